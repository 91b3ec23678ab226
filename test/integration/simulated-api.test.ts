import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../common/kube/connection.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { runScript } from "../simulation/conformance/script.ts";
import { realServer, simulatedServer } from "../simulation/conformance/server-under-test.ts";
import type { Seen } from "../simulation/conformance/session.ts";

let owner: Owner;
let signals: Disposable;
let real: readonly Seen[] = [];
let simulated: readonly Seen[] = [];

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  // Without controllers nothing else writes.
  const plane = await borrowControlPlane(owner);
  const { transport, authorization } = await connect({ kubeconfig: plane.kubeconfig, inCluster: false }, {});
  real = await runScript(realServer(transport, await authorization()));
  await transport.close();
  simulated = await runScript(simulatedServer());
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

describe("the simulated API server", () => {
  it("is asked the same as the real one", () => {
    expect(simulated.map(({ name }) => name)).toEqual(real.map(({ name }) => name));
    expect(simulated.length).toBeGreaterThan(60);
  });

  it("answers every question as the real one does", () => {
    const differences = simulated.flatMap(({ name, seen }, index) => {
      const truth = real[index]?.seen;
      return JSON.stringify(seen) === JSON.stringify(truth) ? [] : [{ name, simulated: seen, real: truth }];
    });

    expect(differences).toEqual([]);
  });
});
