import * as v from "valibot";
import type { Clock } from "../../../common/runtime/clock.ts";
import { explain } from "../process/errors.ts";
import { CallError } from "./call-error.ts";
import { type CallName, type FailureCode, type Fault, faultsFor } from "./faults.ts";
import type { MountCause } from "./mounter.ts";
import type { RecordEvent } from "./record.ts";

/** A call with a request that has been understood. */
interface Prepared {
  readonly volume: string | undefined;
  readonly path: string | undefined;
  readonly work: (cause: MountCause) => Promise<object>;
}

/** How the driver answers a call. */
export interface Method {
  readonly name: CallName;
  /** Throws a ValiError when the request is not what it should be. */
  readonly prepare: (request: unknown) => Prepared;
}

type AnySchema = v.BaseSchema<unknown, unknown, v.BaseIssue<unknown>>;

/** A method whose requests are as `schema` says. */
export function createMethod<S extends AnySchema>(
  name: CallName,
  schema: S,
  work: (request: v.InferOutput<S>, cause: MountCause) => Promise<object> | object,
): Method {
  return {
    name,
    prepare: (message) => {
      const request = v.parse(schema, message);
      const { volume_id, target_path, staging_target_path } = v.parse(paths, message);
      return {
        volume: volume_id,
        path: target_path ?? staging_target_path,
        work: async (cause) => work(request, cause),
      };
    },
  };
}

const paths = v.object({
  volume_id: v.optional(v.string()),
  target_path: v.optional(v.string()),
  staging_target_path: v.optional(v.string()),
});

/** What answering takes. */
export interface CallParts {
  readonly clock: Clock;
  readonly record: (event: RecordEvent) => void;
  readonly nextId: () => string;
  readonly faults: () => readonly Fault[];
}

/** How a call ended. */
export type Outcome =
  | { readonly code: "OK"; readonly answer: object }
  | { readonly code: FailureCode; readonly message: string };

/** While a call hangs, it is looked so often whether it still should. */
const HANG_LOOK_MS = 20;

/** Answers calls one by one: faults before the work, the work, faults after it; all of it recorded. */
export class Calls {
  readonly #parts: CallParts;
  /** Places that a call works on; another one for the same place is turned away, as the interface asks. */
  readonly #busy = new Set<string>();
  #lastFaults = "[]";

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  /** Never rejects, except for a bug. `signal` is aborted when the caller gives up. */
  async answer(method: Method, message: unknown, signal: AbortSignal): Promise<Outcome> {
    const { record, nextId } = this.#parts;
    const prepared = prepare(method, message);
    if ("code" in prepared) {
      const call = { call: method.name, callId: nextId() };
      record({ kind: "call-began", ...call });
      record({ kind: "call-ended", ...call, code: prepared.code, message: prepared.message });
      return prepared;
    }
    const { volume, path } = prepared;
    const call = { call: method.name, callId: nextId(), ...(volume && { volume }), ...(path && { path }) };
    record({ kind: "call-began", ...call });
    const outcome = await this.#run({ call: method.name, callId: call.callId, volume: volume ?? "" }, prepared, signal);
    record({ kind: "call-ended", ...call, code: outcome.code, message: outcome.code === "OK" ? "" : outcome.message });
    return outcome;
  }

  async #run(cause: MountCause, prepared: Prepared, signal: AbortSignal): Promise<Outcome> {
    const place = `${prepared.volume} ${prepared.path}`;
    const isExclusive = prepared.path !== undefined;
    if (isExclusive && this.#busy.has(place)) return { code: "ABORTED", message: `${place} is being worked on` };
    if (isExclusive) this.#busy.add(place);
    try {
      const met = faultsFor(this.#faults(), { call: cause.call, volume: prepared.volume });
      const isPretended = await this.#meet(met, { cause, when: "before", signal });
      const answer = isPretended ? {} : await prepared.work(cause);
      await this.#meet(met, { cause, when: "after", signal });
      return { code: "OK", answer };
    } catch (error) {
      if (error instanceof CallError) return { code: error.code, message: error.message };
      return { code: "INTERNAL", message: explain(error) };
    } finally {
      if (isExclusive) this.#busy.delete(place);
    }
  }

  /** Answers whether the work is only to be pretended. */
  async #meet(met: readonly Fault[], { cause, when, signal }: Meeting): Promise<boolean> {
    const { record } = this.#parts;
    let isPretended = false;
    for (const { id, effect } of met.filter((fault) => fault.when === when)) {
      record({ kind: "fault-met", callId: cause.callId, fault: id, effect: effect.kind });
      if (effect.kind === "fail") throw new CallError(effect.code, `told to fail by ${id}`);
      if (effect.kind === "pretend") isPretended = true;
      if (effect.kind !== "hang") continue;
      const because = await this.#hang(id, effect.forMs ?? Number.POSITIVE_INFINITY, signal);
      record({ kind: "hang-ended", callId: cause.callId, fault: id, because });
      if (because === "given-up") throw new CallError("CANCELLED", "the caller gave up");
    }
    return isPretended;
  }

  async #hang(id: string, forMs: number, signal: AbortSignal): Promise<"released" | "time" | "given-up"> {
    const { clock } = this.#parts;
    const until = clock.monotonicMs() + forMs;
    for (;;) {
      const leftMs = until - clock.monotonicMs();
      if (signal.aborted) return "given-up";
      if (!this.#faults().some((fault) => fault.id === id)) return "released";
      if (leftMs <= 0) return "time";
      await clock.sleep(Math.min(HANG_LOOK_MS, leftMs), signal);
    }
  }

  /** What the control file says; a change of it is recorded. */
  #faults(): readonly Fault[] {
    const faults = this.#parts.faults();
    const text = JSON.stringify(faults);
    if (text !== this.#lastFaults) this.#parts.record({ kind: "faults", faults: [...faults] });
    this.#lastFaults = text;
    return faults;
  }
}

interface Meeting {
  readonly cause: MountCause;
  readonly when: Fault["when"];
  readonly signal: AbortSignal;
}

function prepare(
  method: Method,
  message: unknown,
): Prepared | { readonly code: "INVALID_ARGUMENT"; readonly message: string } {
  try {
    return method.prepare(message);
  } catch (error) {
    if (!(error instanceof v.ValiError)) throw error;
    const problems = error.issues.map((issue: v.BaseIssue<unknown>) => `${v.getDotPath(issue)} ${issue.message}`);
    return { code: "INVALID_ARGUMENT", message: problems.join("; ") };
  }
}
