import { explain, HarnessError } from "../process/errors.ts";
import { type Owner, openOwner } from "../process/owner.ts";
import { closeOnSignals } from "../process/run-owned.ts";
import { waitUntil } from "../process/wait.ts";
import { findBinaries } from "./binaries.ts";
import {
  type ControlPlane,
  type Core,
  type OptionalPart,
  programsWith,
  startControlPlane,
  startCore,
  withParts,
} from "./control-plane.ts";
import { etcdCall, type FirstState, lastRevision, readFirstState } from "./etcd-keys.ts";
import { untilSeen } from "./seen.ts";

/** What is made to see that an API server has followed is named so. */
const MARKER = "mooring-lent-";
const ROUNDS = 5;
const SETTLE_LIMIT_MS = 20_000;

/** One control plane that goes from hand to hand. */
export interface Lending {
  /**
   * A control plane that is as it was at its start, also where others had it before; it is given back when `owner` ends. Parts beside the API server and
   * etcd are started for this borrower, and end with it. While the one that is lent is out, a new one of the borrower's own.
   */
  readonly borrow: (owner: Owner, parts?: readonly OptionalPart[]) => Promise<ControlPlane>;
  /** Ends the control plane, if there is one. */
  readonly close: () => Promise<void>;
}

/**
 * The one module with a state: files of tests that run in one process share it, and with it a control plane, whose start takes seconds of
 * processor time. The process ends it when it ends.
 */
const lending = createLending();

/**
 * A control plane for a file of tests that neither configures it nor stops parts of it. It is lent from one file to the next, of which each
 * finds it as it was at its start.
 */
export function borrowControlPlane(owner: Owner, parts: readonly OptionalPart[] = []): Promise<ControlPlane> {
  return lending.borrow(owner, parts);
}

/** Nothing is started before it is borrowed. */
export function createLending(): Lending {
  let kept: Kept | undefined;
  let isLent = false;
  const close = async (): Promise<void> => {
    const ending = kept;
    kept = undefined;
    await ending?.[Symbol.asyncDispose]();
  };
  const giveBack = async (owner: Owner): Promise<void> => {
    try {
      if (await kept?.isAsBefore(owner)) return;
      await close();
    } finally {
      isLent = false;
    }
  };
  return {
    close,
    borrow: async (owner, parts = []) => {
      if (isLent) return await startControlPlane(owner, { parts });
      owner.defer(() => giveBack(owner));
      isLent = true;
      // Callers that wait for them are told what is built.
      const binaries = await findBinaries(owner, programsWith(parts));
      kept ??= await keep();
      const { core } = kept;
      return await withParts(owner, { ...core, site: { ...core.site, binaries } }, parts);
    },
  };
}

/** A control plane that outlives its borrowers. */
interface Kept extends AsyncDisposable {
  readonly core: Core;
  /** Puts it back to its start; false when that cannot be, and then it is of no use any more. */
  readonly isAsBefore: (borrower: Owner) => Promise<boolean>;
}

async function keep(): Promise<Kept> {
  const owner = await openOwner({ say: () => {} });
  const signals = closeOnSignals(owner);
  const dispose = async (): Promise<void> => {
    await owner.close();
    signals[Symbol.dispose]();
  };
  try {
    const core = await startCore(owner);
    const pids = pidsOf(core);
    const state = await settled(owner, core);
    return {
      core,
      isAsBefore: async ({ say }) => {
        // Parts that a borrower restarted have forgotten what they knew at their start: the next one would not find the same.
        if (owner.signal.aborted || pidsOf(core) !== pids) return false;
        try {
          await restore(owner, core, state);
          return true;
        } catch (error) {
          say(`a control plane is not lent again: ${explain(error)}`);
          return false;
        }
      },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function pidsOf({ etcd, apiServer }: Core): string {
  return `${etcd.pid} ${apiServer.pid}`;
}

/** An API server goes on to write for a moment after it is ready. */
async function settled(owner: Owner, core: Core): Promise<FirstState> {
  const call = etcdCall(core);
  let last = "";
  const check = async (): Promise<void> => {
    const before = last;
    last = await lastRevision(call);
    if (last !== before) throw new Error(`it has written since revision ${before}`);
  };
  await waitUntil(owner, { what: "an API server at rest", limitMs: SETTLE_LIMIT_MS, everyMs: 300, check });
  return await readFirstState(call);
}

async function restore(owner: Owner, { access }: Core, state: FirstState): Promise<void> {
  for (let round = 1; round <= ROUNDS; round += 1) {
    // The markers of the round before go, too, and what was written after it.
    const keys = (await state.restore()).filter((key) => !key.includes(MARKER));
    if (keys.length === 0) return;
    await untilSeen({ owner, api: access.api, keys, marker: `${MARKER}${round}-${owner.clock.wallMs()}` });
  }
  throw new HarnessError("somebody goes on writing after the borrower's end");
}
