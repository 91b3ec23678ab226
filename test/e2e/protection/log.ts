import type { Stored } from "../../../common/kube/store.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { follow, identityOf } from "../scenarios/follow.ts";

/** What the API server had of an object, from a moment on. */
export interface Observation<T> {
  /** Wall clock, milliseconds: it was so by then. */
  readonly seenMs: number;
  readonly uid: string;
  readonly value: T | "gone";
}

/** All that was seen of the objects with this key (`namespace/name`, or `name`), in their order. */
export type Log<T> = (key: string) => readonly Observation<T>[];

interface Seen<T> extends Stored {
  readonly value: T;
}

/** Follows all objects of a path from now on, until the owner ends. */
export async function startLog<T>(
  owner: Owner,
  plane: Pick<ControlPlane, "kubeconfig">,
  { path, read }: { readonly path: string; readonly read: (object: unknown) => T },
): Promise<Log<T>> {
  const observations = new Map<string, Observation<T>[]>();
  await follow<Seen<T>>(owner, plane, {
    name: `log of ${path.split("/").at(-1)}`,
    path,
    project: (object) => ({ ...identityOf(object), value: read(object) }),
    onChange: ({ kind, object: { key, uid, value } }) => {
      const observation = { seenMs: owner.clock.wallMs(), uid, value: kind === "deleted" ? ("gone" as const) : value };
      observations.set(key, [...(observations.get(key) ?? []), observation]);
    },
  });
  return (key) => observations.get(key) ?? [];
}
