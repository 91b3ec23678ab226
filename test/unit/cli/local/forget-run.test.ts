import { describe, expect, it } from "vitest";
import { forget } from "../../../../cli/local/forget-run.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection } from "../../../fakes/transport.ts";

const volume = {
  ...{ name: "pvc-1", uid: "u1", resourceVersion: "1", node: "n1", isDeleting: false, finalizers: [] },
  ...{ pool: "default", poolId: "id-1", bytes: 1, phase: "Bound", policy: "Delete", storageClass: "local" },
  claim: undefined,
};

describe("forget, once Ctrl-C was pressed", () => {
  it("sends no request any more, and lists what was not reached", async () => {
    const transport = { send: () => expect.fail("it was asked"), close: async () => {} };
    const client = createKubeClient(createFakeConnection(transport), { clock: createFakeClock() });
    const remains = { losses: [{ volume, pods: [] }], reports: [] };

    const results = await forget({ client, node: "n1", signal: AbortSignal.abort() }, remains);

    expect(results).toEqual([{ kind: "PersistentVolume", name: "pvc-1", outcome: "not reached" }]);
  });
});
