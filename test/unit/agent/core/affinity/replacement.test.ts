import { describe, expect, it } from "vitest";
import type { LiveJob } from "../../../../../agent/core/affinity/facts.ts";
import { lossOf } from "../../../../../agent/core/affinity/replacement.ts";
import { CAREFUL, owner } from "./limit-scenes.ts";

const JOB = owner("job", "Job");

function job(fields: Partial<LiveJob>) {
  return {
    kind: "value",
    value: { uid: "job", backoffLimit: undefined, backoffLimitPerIndex: undefined, failed: 0, ...fields },
  } as const;
}

describe("lossOf", () => {
  it.each([
    { name: "a ReplicaSet makes another pod", of: owner("rs"), job: undefined, limit: undefined },
    {
      name: "a Job with retries left makes another pod",
      of: JOB,
      job: job({ backoffLimit: 6, failed: 5 }),
      limit: undefined,
    },
    { name: "no controller replaces a bare pod", of: undefined, job: undefined, limit: "bare-pod" },
    { name: "a Job without retries fails", of: JOB, job: job({ backoffLimit: 0 }), limit: "last-try" },
    {
      name: "a Job whose retries are spent fails",
      of: JOB,
      job: job({ backoffLimit: 6, failed: 6 }),
      limit: "last-try",
    },
    {
      name: "an index without retries fails",
      of: JOB,
      job: job({ backoffLimit: 2_147_483_647, backoffLimitPerIndex: 0 }),
      limit: "last-try",
    },
    {
      name: "an index may have no retry left when as many failed in all",
      of: JOB,
      job: job({ backoffLimit: 100, backoffLimitPerIndex: 2, failed: 2 }),
      limit: "last-try",
    },
    { name: "a Job without a backoffLimit may fail", of: JOB, job: job({}), limit: "last-try" },
    { name: "a Job that was not read may fail", of: JOB, job: undefined, limit: "last-try" },
    { name: "a Job that is gone makes nothing", of: JOB, job: { kind: "missing" } as const, limit: "last-try" },
    {
      name: "a Job that cannot be read may fail",
      of: JOB,
      job: { kind: "failed", why: "403" } as const,
      limit: "last-try",
    },
  ])("$name", ({ of, job: read, limit }) => {
    expect(lossOf({ owner: of, job: read }, CAREFUL)?.limit).toBe(limit);
  });

  it.each([
    { of: undefined, job: undefined, why: "no controller owns the pod: nothing would replace it" },
    { of: JOB, job: undefined, why: "the Job of the pod was not read" },
    { of: JOB, job: { kind: "missing" } as const, why: "the Job of the pod is gone" },
    { of: JOB, job: { kind: "failed", why: "403" } as const, why: "the Job of the pod could not be read: 403" },
    { of: JOB, job: job({}), why: "the Job does not say how many retries it has" },
    { of: JOB, job: job({ backoffLimit: 0 }), why: "the Job has no retry left: it would fail with the pod" },
  ])("gives the reason: $why", ({ of, job: read, why }) => {
    expect(lossOf({ owner: of, job: read }, CAREFUL)?.why).toBe(why);
  });

  it("allows what the settings allow", () => {
    const asked = { rejectBarePods: true, rejectLastTries: true };

    expect(lossOf({ owner: undefined, job: undefined }, asked)).toBeUndefined();
    expect(lossOf({ owner: JOB, job: job({ backoffLimit: 0 }) }, asked)).toBeUndefined();
  });
});
