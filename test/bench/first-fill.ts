import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import { FIELD_MANAGER } from "../../common/storage/claim-status.ts";
import type { Printer } from "../demo/print.ts";
import { type ControlPlane, startControlPlane } from "../rig/control-plane/control-plane.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import type { Owner } from "../rig/process/owner.ts";
import { applyManifests } from "../rig/stand-in/mooring.ts";
import { type MeasuredAggregator, startAggregator } from "./aggregator-process.ts";
import { type ClaimWatch, watchClaims } from "./claim-watch.ts";
import { forEachIndex } from "./cluster/concurrency.ts";
import { writtenCondition } from "./cluster/conditions.ts";
import { claimPlace, namespaceName, type Sizes, sizesOf } from "./cluster/layout.ts";
import { createClaim } from "./cluster/loader.ts";
import { createWriter, type ObjectWriter } from "./cluster/writer.ts";
import { FirstConditions } from "./first-conditions.ts";
import { keepApart } from "./processors.ts";

/** As shipped: the harness otherwise raises the controller manager's rate limit. */
const SHIPPED = ["--kube-api-qps=20", "--kube-api-burst=30"];
const LIMIT_MS = 300_000;
/** Concurrent requests of a bare loop: as many as the aggregator's. */
const AT_ONCE = 16;

interface FillChoice {
  /** The API server and etcd have processors of their own. */
  readonly isApart: boolean;
}

/** What writes the conditions, if it is a process, and when it had listed everything, if it says so. */
interface Started {
  readonly child?: OwnedChild | undefined;
  readonly listedAt?: number;
}

type Start = () => Promise<Started>;

interface FillFigures {
  /** From the lists until the first condition; NaN where nothing says when they were there. Milliseconds. */
  readonly fromListsMs: number;
  /** From the start of the process until the last condition, and from the first to the last. Milliseconds. */
  readonly fromStartMs: number;
  readonly fromFirstMs: number;
}

/**
 * The first condition of 1,000 bound claims: Mooring's aggregator, a bare loop that sends the same server-side applies to as many other
 * claims from the same account, the same loop from an account that no policy confines, then kube-controller-manager with its own `Unused`.
 */
export async function benchFirstFill(owner: Owner, printer: Printer, { isApart }: FillChoice): Promise<void> {
  const sizes = sizesOf(0.005);
  const plane = await startPlane(owner, isApart);
  const writer = await createWriter(owner, plane);
  await makeClaims({ owner, writer, sizes }, 0);
  const watch = await watchClaims(owner, plane);
  const fill = (start: Start, isDone: (claim: Claim) => boolean): Promise<FillFigures> =>
    filled({ owner, watch, count: sizes.claims }, { start, isDone });
  const hasStatus = ({ status }: Claim): boolean => status !== undefined;
  const mooring = await fill(async () => listed(owner, await startAggregator(owner, plane)), hasStatus);
  await makeClaims({ owner, writer, sizes }, sizes.claims);
  const account = await ownWriter(owner, plane);
  const applies = await bareApplies({ owner, writer, sizes, account }, sizes.claims);
  const bare = await fill(() => sendAll(owner, applies), hasStatus);
  await makeClaims({ owner, writer, sizes }, 2 * sizes.claims);
  const free = await bareApplies({ owner, writer, sizes, account: writer }, 2 * sizes.claims);
  const admin = await fill(() => sendAll(owner, free), hasStatus);
  const upstream = await fill(
    async () => {
      await plane.part("kube-controller-manager").start();
      return {};
    },
    ({ upstream }) => upstream !== undefined,
  );
  const where = isApart ? "with processors of its own" : "that shares all processors";
  printer.title(`\nFirst condition of ${sizes.claims} bound claims, in one run on one API server ${where}`);
  printFigures(printer, sizes.claims, { mooring, bare, admin, upstream });
}

type Fills = Readonly<Record<"mooring" | "bare" | "admin" | "upstream", FillFigures>>;

function printFigures(printer: Printer, claims: number, { mooring, bare, admin, upstream }: Fills): void {
  const row = (name: string, { fromStartMs, fromFirstMs }: FillFigures): string[] => [
    name,
    `${(fromStartMs / 1000).toFixed(1)} s`,
    `${(fromFirstMs / 1000).toFixed(2)} s`,
    `${Math.round((claims * 1000) / fromFirstMs)}/s`,
    (bare.fromFirstMs / fromFirstMs).toFixed(2),
  ];
  printer.table([
    ["WHAT", "START TO LAST", "FIRST TO LAST", "RATE", "OF THE BARE LOOP"],
    row("Mooring's aggregator", mooring),
    row(`baseline, a bare loop of ${AT_ONCE} server-side applies at once`, bare),
    row("the same from an administrator's account", admin),
    row("kube-controller-manager as shipped (20 requests/s)", upstream),
  ]);
  const firstMs = `${Math.max(0, mooring.fromListsMs).toFixed(0)} ms`;
  printer.table([
    ["WHAT", "AIM", "MEASURED"],
    ["Mooring's first condition after its lists are there", "<= 1000 ms", firstMs],
  ]);
}

/** Says when it had listed everything. */
async function listed(owner: Owner, { child, listed }: MeasuredAggregator): Promise<Started> {
  await listed(LIMIT_MS);
  return { child, listedAt: owner.clock.monotonicMs() };
}

/** Everything is there but the controllers: the creation of claims must not limit the measurement. */
async function startPlane(owner: Owner, isApart: boolean): Promise<ControlPlane> {
  const plane = await startControlPlane(owner, {
    parts: ["kube-controller-manager"],
    args: { "kube-controller-manager": SHIPPED },
  });
  if (isApart) await keepApart(plane);
  await plane.part("kube-controller-manager").stop();
  await applyManifests(plane);
  return plane;
}

/** Writes from the aggregator's account: the policies cost the API server time for this account alone. */
async function ownWriter(owner: Owner, plane: ControlPlane): Promise<ObjectWriter> {
  const serviceAccount = { namespace: "mooring", name: "mooring-aggregator" };
  return await createWriter(owner, { kubeconfig: await plane.kubeconfigFor({ serviceAccount }) });
}

interface Making {
  readonly owner: Owner;
  readonly writer: ObjectWriter;
  readonly sizes: Sizes;
}

/** As many claims as the sizes say, from this number on. */
async function makeClaims({ owner, writer, sizes }: Making, from: number): Promise<void> {
  const { signal } = owner;
  await forEachIndex({ count: sizes.namespaces, workers: 1, signal }, async (index) => {
    await writer.create("/api/v1/namespaces", { metadata: { name: namespaceName(index) } }, "kubectl");
  });
  await forEachIndex({ count: sizes.claims, workers: 64, signal }, (index) =>
    createClaim(writer, claimPlace(from + index, sizes)),
  );
}

interface Applying extends Making {
  /** Sends the applies. */
  readonly account: ObjectWriter;
}

/** The applies of the loop to the claims from this number on, ready to be sent: UID and resource version with them, as the aggregator's. */
async function bareApplies(
  { owner, writer, sizes, account }: Applying,
  from: number,
): Promise<readonly (() => Promise<void>)[]> {
  const applies: (() => Promise<void>)[] = [];
  const atMs = Math.ceil(owner.clock.wallMs() / 1000) * 1000;
  await forEachIndex({ count: sizes.claims, workers: AT_ONCE, signal: owner.signal }, async (index) => {
    // Never seen in use, like the others.
    const place = { ...claimPlace(from + index, sizes), isUsed: false, index: 1 };
    const path = `/api/v1/namespaces/${place.namespace}/persistentvolumeclaims/${place.name}`;
    const { namespace, name, uid, resourceVersion } = projectClaim(
      JSON.parse(await writer.read(path, "application/json")),
    );
    const { metadata, status } = writtenCondition(place, { uid, atMs });
    const identity = { namespace, name, uid, resourceVersion };
    const applied = { apiVersion: "v1", kind: "PersistentVolumeClaim", status, metadata: { ...metadata, ...identity } };
    applies[index] = () => account.applyStatus(path, applied, FIELD_MANAGER);
  });
  return applies;
}

async function sendAll({ signal }: Owner, applies: readonly (() => Promise<void>)[]): Promise<Started> {
  await forEachIndex({ count: applies.length, workers: AT_ONCE, signal }, async (index) => applies[index]?.());
  return {};
}

async function filled(
  { owner, watch, count }: { readonly owner: Owner; readonly watch: ClaimWatch; readonly count: number },
  { start, isDone }: { readonly start: Start; readonly isDone: (claim: Claim) => boolean },
): Promise<FillFigures> {
  const conditions = new FirstConditions(owner, watch, isDone);
  const begunAt = owner.clock.monotonicMs();
  const { child, listedAt = Number.NaN } = await start();
  await conditions.reached(count, { limitMs: LIMIT_MS, ...(child === undefined ? {} : { child }) });
  // Its further work would disturb the next measurement.
  await child?.stop();
  const [first = Number.NaN, last = Number.NaN] = [conditions.times.at(0), conditions.times.at(-1)];
  return { fromListsMs: first - listedAt, fromStartMs: last - begunAt, fromFirstMs: last - first };
}
