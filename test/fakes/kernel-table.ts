import type { KernelTable } from "../simulation/engine/kernel.ts";
import { formatMountLine } from "./mount-table.ts";

/** A kernel's mount table that a test changes. Every poller is notified at once. */
export interface FakeKernelTable extends Omit<KernelTable, "readMs"> {
  /** See `KernelTable`. */
  readMs: NonNullable<KernelTable["readMs"]>;
  readonly mount: (place: string) => void;
  readonly unmount: (place: string) => void;
  /** True: no scan succeeds. */
  isBroken: boolean;
}

export function createFakeKernelTable(...mounted: readonly string[]): FakeKernelTable {
  const places = [...mounted];
  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  const table: FakeKernelTable = {
    isBroken: false,
    readMs: () => [0.4, 0],
    text: () => (table.isBroken ? undefined : places.map((mountPoint) => formatMountLine({ mountPoint })).join("")),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    mount: (place) => {
      places.push(place);
      notify();
    },
    unmount: (place) => {
      places.splice(places.indexOf(place), 1);
      notify();
    },
  };
  return table;
}
