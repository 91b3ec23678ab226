import * as v from "valibot";
import { createBackOff } from "../../common/kube/back-off.ts";
import type { KubeParts } from "../../common/kube/client.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { jitter } from "../../common/runtime/random.ts";
import type { ServerVersion } from "../core/upstream-policy.ts";

/** Which release the API server is of. */
export interface ServerVersionSource {
  /** Nothing before the first answer. */
  readonly version: () => ServerVersion | undefined;
  /** Reads it, now and then again: a cluster is upgraded under us. Resolves when the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

const RETRY = { firstMs: 1_000, maxMs: 600_000 } as const;
/** Nothing is lost while an upgrade is not noticed: whoever else writes what we wrote is noticed at once. */
const READ_AGAIN_MS = 3_600_000;

/** Managed clusters say `36+`. */
const number = v.pipe(v.string(), v.regex(/^\d+\D*$/), v.transform(Number.parseInt));
const answer = v.object({ major: number, minor: number });

/** `onChange` is told of each answer that is another one than before, the first included. */
export function createServerVersion(
  { client, clock, random, logger }: KubeParts,
  onChange: (version: ServerVersion) => void,
): ServerVersionSource {
  let known: ServerVersion | undefined;
  const backOff = createBackOff(random, RETRY);

  const read = async (signal: AbortSignal): Promise<number> => {
    try {
      const version = v.parse(answer, await client.request({ method: "GET", path: "/version" }, signal));
      backOff.reset();
      const isNews = known?.major !== version.major || known.minor !== version.minor;
      known = version;
      if (isNews) onChange(version);
      return jitter(random, READ_AGAIN_MS, 0.2);
    } catch (error) {
      if (!(error instanceof MooringError || v.isValiError(error))) throw error;
      if (!signal.aborted) logger.warn({ err: messageOf(error) }, "version of the API server not read");
      return backOff.next(error);
    }
  };

  return {
    version: () => known,
    run: async (signal) => {
      while (!signal.aborted) await clock.sleep(await read(signal), signal);
    },
  };
}
