import type { Claim } from "../../common/storage/claim.ts";
import type { Printer } from "../demo/print.ts";
import { startControlPlane } from "../rig/control-plane/control-plane.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import type { Owner } from "../rig/process/owner.ts";
import { applyManifests } from "../rig/stand-in/mooring.ts";
import { startAggregator } from "./aggregator-process.ts";
import { type ClaimWatch, watchClaims } from "./claim-watch.ts";
import { forEachIndex } from "./cluster/concurrency.ts";
import { claimPlace, namespaceName, type Sizes, sizesOf } from "./cluster/layout.ts";
import { createClaim } from "./cluster/loader.ts";
import { createWriter } from "./cluster/writer.ts";
import { FirstConditions } from "./first-conditions.ts";

/** As it is shipped: the harness otherwise lets the controller manager ask more often than that. */
const SHIPPED = ["--kube-api-qps=20", "--kube-api-burst=30"];
const LIMIT_MS = 300_000;

interface FillFigures {
  /** From the start of the process until the last condition, and from the first to the last. Milliseconds. */
  readonly fromStartMs: number;
  readonly fromFirstMs: number;
}

/** The first condition of 1,000 bound claims: Mooring's aggregator, then kube-controller-manager with its own `Unused`. */
export async function benchFirstFill(owner: Owner, printer: Printer): Promise<void> {
  const sizes = sizesOf(0.005);
  const plane = await startControlPlane(owner, {
    parts: ["kube-controller-manager"],
    args: { "kube-controller-manager": SHIPPED },
  });
  const controllers = plane.part("kube-controller-manager");
  // Claims that are there before either starts: neither is to be measured at the pace at which they are made.
  await controllers.stop();
  await applyManifests(plane);
  await makeClaims(owner, await createWriter(owner, plane), sizes);
  const watch = await watchClaims(owner, plane);
  const mooring = await filled(
    { owner, watch, count: sizes.claims },
    {
      start: async () => (await startAggregator(owner, plane)).child,
      isDone: ({ status }) => status !== undefined,
    },
  );
  const upstream = await filled(
    { owner, watch, count: sizes.claims },
    {
      start: async () => void (await controllers.start()),
      isDone: ({ upstream }) => upstream !== undefined,
    },
  );
  printer.title(`\nFirst condition of ${sizes.claims} bound claims, on one API server in one run`);
  const row = (name: string, { fromStartMs, fromFirstMs }: FillFigures): string[] => [
    name,
    `${(fromStartMs / 1000).toFixed(1)} s`,
    `${(fromFirstMs / 1000).toFixed(2)} s`,
    `${Math.round((sizes.claims * 1000) / fromFirstMs)}/s`,
    (upstream.fromFirstMs / fromFirstMs).toFixed(1),
  ];
  printer.table([
    ["WHAT", "START TO LAST", "FIRST TO LAST", "RATE", "TIMES FASTER"],
    row("Mooring's aggregator", mooring),
    row("baseline, kube-controller-manager as shipped (20 requests/s)", upstream),
  ]);
}

async function makeClaims(owner: Owner, writer: Parameters<typeof createClaim>[0], sizes: Sizes): Promise<void> {
  const { signal } = owner;
  await forEachIndex({ count: sizes.namespaces, workers: 1, signal }, async (index) => {
    await writer.create("/api/v1/namespaces", { metadata: { name: namespaceName(index) } }, "kubectl");
  });
  await forEachIndex({ count: sizes.claims, workers: 64, signal }, (index) =>
    createClaim(writer, claimPlace(index, sizes)),
  );
}

async function filled(
  { owner, watch, count }: { readonly owner: Owner; readonly watch: ClaimWatch; readonly count: number },
  {
    start,
    isDone,
  }: { readonly start: () => Promise<OwnedChild | undefined>; readonly isDone: (claim: Claim) => boolean },
): Promise<FillFigures> {
  const conditions = new FirstConditions(owner, watch, isDone);
  const begunAt = owner.clock.monotonicMs();
  const child = await start();
  await conditions.reached(count, { limitMs: LIMIT_MS, ...(child === undefined ? {} : { child }) });
  const [first = Number.NaN, last = Number.NaN] = [conditions.times.at(0), conditions.times.at(-1)];
  return { fromStartMs: last - begunAt, fromFirstMs: last - first };
}
