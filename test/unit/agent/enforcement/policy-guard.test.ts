import { afterEach, describe, expect, it } from "vitest";
import { TOKEN_RULE } from "../../../../agent/sources/policy-probe.ts";
import type { FakeAnswer } from "../../../fakes/transport.ts";
import { json } from "../../../fakes/transport.ts";
import { denial, refusal } from "./cluster.ts";
import { endScenes, OWN_POD, pod, podAt, startScene } from "./scene.ts";

afterEach(endScenes);

const POLICY = "mooring-agent.mooring.dev";
const ALLOWED = json({});
const NOT_ALLOWED = refusal(403, "Forbidden", { message: 'User "agent" cannot patch resource "pods/status"' });

function questions(scene: Awaited<ReturnType<typeof startScene>>): readonly string[] {
  return scene.cluster.transport.requests.flatMap(({ method, path }) =>
    path.includes("dryRun=All") ? [`${method} ${path}`] : [],
  );
}

describe("an agent in enforce mode", () => {
  it.each<{ readonly name: string; readonly answer: FakeAnswer; readonly why: string }>([
    { name: "the API server allows what the policy forbids", answer: ALLOWED, why: "the policy is not in force" },
    {
      name: "the API server knows no ValidatingAdmissionPolicy",
      answer: json({ kind: "Pod" }, 200),
      why: `lets through what the policy ${POLICY} forbids`,
    },
    { name: "another policy forbids it", answer: denial("other.example.com"), why: "is not known to be in force" },
    {
      name: "a policy of nearly that name forbids it",
      answer: denial(`not-${POLICY}`),
      why: "is not known to be in force",
    },
    { name: "its token is not for its node", answer: denial(POLICY, TOKEN_RULE), why: "is not for its own node" },
    {
      name: "a webhook does not support dry runs",
      answer: refusal(400, "BadRequest"),
      why: "is not known to be in force",
    },
    { name: "its own pod does not exist", answer: refusal(404, "NotFound"), why: "is not known to be in force" },
    { name: "no answer comes", answer: "broken", why: "is not known to be in force" },
    { name: "the API server fails", answer: refusal(500, "InternalError"), why: "is not known to be in force" },
  ])("rejects no pod while $name, and logs that", async ({ answer, why }) => {
    const scene = await startScene({}, (cluster) => {
      cluster.policy = () => answer;
    });
    const { cluster, advance, phase, counted, enforcement, metrics, logger } = scene;

    cluster.put(podAt("web"), pod("web"));
    await advance(120_000);

    expect(phase("web")).toBe("Pending");
    expect(cluster.asked().filter((line) => line.startsWith("PATCH"))).toEqual([]);
    expect(await counted()).toEqual({ unguarded: 1 });
    expect(enforcement.check()).toMatchObject({ ok: true, isDegraded: true, detail: expect.stringContaining(why) });
    expect(await metrics.text()).toContain("mooring_affinity_policy_in_force 0");
    const emitted = logger.lines.filter(({ message }) => message.startsWith("policy is not known to be in force"));
    expect(emitted).toMatchObject([{ level: "warn", fields: { why: expect.stringContaining(why) } }]);
  });

  it("rejects no pod while it may not probe the policy, and names the missing permission", async () => {
    const { cluster, advance, phase, counted, enforcement } = await startScene({}, (fake) => {
      fake.policy = () => NOT_ALLOWED;
    });

    cluster.put(podAt("web"), pod("web"));
    await advance(6_000);

    expect(phase("web")).toBe("Pending");
    expect(await counted()).toMatchObject({ forbidden: expect.any(Number) });
    expect(enforcement.check()).toMatchObject({ ok: false, why: expect.stringContaining("pods/status (patch)") });
  });

  it("rejects no pod while it does not know its own pod", async () => {
    const scene = await startScene({}, (fake) => fake.remove(OWN_POD));

    scene.cluster.put(podAt("web"), pod("web"));
    await scene.advance(60_000);

    expect(scene.phase("web")).toBe("Pending");
    expect(questions(scene)).toEqual([]);
    expect(scene.enforcement.check()).toMatchObject({ detail: expect.stringContaining("own pod is not among those") });
  });

  it("rejects within seconds once the policy is in force", async () => {
    const { cluster, advance, phase, metrics, enforcement } = await startScene({}, (fake) => {
      fake.policy = () => ALLOWED;
    });
    cluster.put(podAt("web"), pod("web"));
    await advance(20_000);
    const before = phase("web");

    cluster.policy = () => denial(POLICY);
    await advance(61_000);

    expect(before).toBe("Pending");
    expect(phase("web")).toBe("Failed");
    expect(await metrics.text()).toContain("mooring_affinity_policy_in_force 1");
    expect(enforcement.check()).not.toHaveProperty("isDegraded");
  });

  it("probes again right before a rejection, so that a removed policy stops it", async () => {
    const { cluster, advance, phase } = await startScene();
    await advance(60_000);

    cluster.policy = () => ALLOWED;
    cluster.put(podAt("web"), pod("web"));
    await advance(10_000);

    expect(phase("web")).toBe("Pending");
  });

  it("probes again after its machine slept, however short it has been awake since", async () => {
    const { cluster, clock, advance, phase } = await startScene();
    cluster.put(podAt("first"), pod("first"));
    await advance(6_000);

    cluster.policy = () => ALLOWED;
    clock.suspend(10_000);
    cluster.put(podAt("second"), pod("second"));
    await advance(6_000);

    expect([phase("first"), phase("second")]).toEqual(["Failed", "Pending"]);
  });

  it("probes by a dry run about its own pod, by UID, and rarely at rest", async () => {
    const scene = await startScene();
    const first = scene.cluster.transport.requests.find(({ path }) => path.includes("dryRun=All"));

    await scene.advance(3_600_000);

    expect(first).toMatchObject({
      method: "PATCH",
      path: `${OWN_POD}/status?dryRun=All&fieldManager=mooring-agent`,
      body: JSON.stringify({ metadata: { uid: "agent-1" } }),
    });
    expect(questions(scene).length).toBeLessThan(10);
  });
});

it("an agent in audit mode does not probe the policy", async () => {
  const scene = await startScene({ mode: "audit" });

  scene.cluster.put(podAt("web"), pod("web"));
  await scene.advance(10_000);

  expect(await scene.counted()).toEqual({ "would-reject": 1 });
  expect(questions(scene)).toEqual([]);
  expect(scene.enforcement.check()).not.toHaveProperty("isDegraded");
});
