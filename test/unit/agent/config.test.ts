import { describe, expect, it } from "vitest";
import { readAgentCommand } from "../../../agent/config.ts";

const TOKEN = "--aggregator-token-file=/var/run/mooring/token";
const WHO = ["--node", "node-1", "--pod-uid", "uid-1"];
const NEEDED = [...WHO, "--aggregator-url", "https://mooring.example", TOKEN];

function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const command = readAgentCommand({ argv, env });
  if (command.kind !== "run") throw new Error(`a ${command.kind} instead of a run`);
  return command.config;
}

function problems(argv: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  try {
    readAgentCommand({ argv, env });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "";
}

describe("the agent's configuration", () => {
  it("has defaults for all but node, pod and aggregator", () => {
    expect(run(NEEDED)).toMatchObject({
      node: "node-1",
      podUid: "uid-1",
      aggregatorUrl: "https://mooring.example",
      podNamespace: "mooring-agents",
      aggregatorCaFile: undefined,
      aggregatorTokenFile: "/var/run/mooring/token",
      kubeconfig: undefined,
      mountInfo: "/proc/1/mountinfo",
      bootId: "/proc/sys/kernel/random/boot_id",
      kubeletRoot: undefined,
      journalDir: undefined,
      heartbeatMs: 30_000,
      debounceMs: 100,
      affinity: {
        mode: "audit",
        graceMs: 5_000,
        rejectAttached: false,
        rejectBarePods: false,
        rejectLastTries: false,
        deleteReverted: false,
        deleteRejected: false,
        enforcesSince: undefined,
      },
      debugAddress: { host: "127.0.0.1", port: 9810 },
      metricsAddress: { host: "127.0.0.1", port: 9808 },
      logLevel: "info",
    });
  });

  it("takes flags before environment variables", () => {
    const env = { MOORING_NODE: "from-env", MOORING_HEARTBEAT: "5s", MOORING_POD_UID: "uid-2" };

    const config = run(["--node=from-flag", "--aggregator-url=https://a", TOKEN], env);

    expect(config).toMatchObject({ node: "from-flag", heartbeatMs: 5_000, podUid: "uid-2" });
  });

  it("reads all settings of node affinity", () => {
    const flags = "--affinity=enforce --affinity-grace=2s --reject-attached --reject-bare-pods --reject-last-tries";

    const { affinity } = run([
      ...NEEDED,
      ...flags.split(" "),
      "--delete-reverted",
      "--delete-rejected",
      "--kubelet-enforces-since=v1.38",
    ]);

    expect(affinity).toEqual({
      mode: "enforce",
      graceMs: 2_000,
      rejectAttached: true,
      rejectBarePods: true,
      rejectLastTries: true,
      deleteReverted: true,
      deleteRejected: true,
      enforcesSince: [1, 38, 0],
    });
  });

  it.each(["soon", "1", "1.x", "v", "1.38.", "1.38 "])("refuses %j as the version of a kubelet", (version) => {
    expect(problems([...NEEDED, `--kubelet-enforces-since=${version}`])).toContain("must be a version like 1.38");
  });

  it("is frozen", () => {
    expect(Object.isFrozen(run(NEEDED))).toBe(true);
  });

  it("reports all problems at once", () => {
    const text = problems([
      ...NEEDED,
      "--heartbeat=1h",
      "--debounce",
      "soon",
      "--metrics-bind-address=9808",
      "--log-level=loud",
      "--colour",
      "extra",
    ]);

    expect(text.split("\n").map((line) => line.trim())).toEqual([
      "invalid configuration:",
      "unknown flag --colour",
      'unexpected argument "extra"',
      "--heartbeat (or MOORING_HEARTBEAT) is 1h, must be 500 ms to 600000 ms",
      '--debounce (or MOORING_DEBOUNCE) is "soon", must be a duration like 250ms, 30s or 5m',
      '--metrics-bind-address (or MOORING_METRICS_BIND_ADDRESS) is "9808", must be an address like 127.0.0.1:8080',
      '--log-level (or MOORING_LOG_LEVEL) is "loud", must be one of debug, info, warn, error, silent',
    ]);
  });

  it("reports a bad value together with missing and contradicting settings", () => {
    const text = problems([
      "--heartbeat=1h",
      "--debug-bind-address=0.0.0.0:1",
      "--aggregator-url=http://mooring.example",
    ]);

    for (const part of [
      "--heartbeat",
      "--node is missing",
      "--pod-uid is missing",
      "0.0.0.0 is no loopback",
      "unencrypted",
    ]) {
      expect(text).toContain(part);
    }
  });

  it("names every missing setting", () => {
    expect(
      problems([])
        .split("\n")
        .slice(1)
        .map((line) => line.trim()),
    ).toEqual([
      "--node is missing (or use --dry-run)",
      "--pod-uid is missing (or use --dry-run)",
      "--aggregator-url is missing (or use --dry-run)",
    ]);
  });

  it.each([{ url: "https://mooring.mooring-system.svc:8443" }, { url: "https://gateway.example/mooring" }])(
    "sends reports to $url with a token",
    ({ url }) => {
      expect(problems([...WHO, TOKEN, "--aggregator-url", url])).toBe("");
    },
  );

  it.each([
    { url: "http://127.0.0.1:9809" },
    { url: "http://127.1:9809" },
    { url: "http://localhost:9809" },
    { url: "http://[::1]:9809" },
  ])("sends reports to $url without one", ({ url }) => {
    expect(problems([...WHO, "--aggregator-url", url])).toBe("");
  });

  it.each([
    { url: "http://mooring.mooring-system.svc", why: "unencrypted" },
    { url: "http://localhost.example", why: "unencrypted" },
    { url: "http://localhost@example.com", why: "user" },
    { url: "http://0.0.0.0:9809", why: "unencrypted" },
    { url: "http://[::ffff:10.0.0.1]", why: "unencrypted" },
    { url: "ftp://localhost", why: "no http or https URL" },
    { url: "mooring:8443", why: "no http or https URL" },
    { url: "mooring.example", why: "no http or https URL" },
    { url: "https://user:secret@mooring.example", why: "user" },
    { url: "https://mooring.example/?cluster=a", why: "query" },
    { url: "https://mooring.example/#a", why: "query" },
    { url: "https://mooring.example", why: "--aggregator-token-file is missing" },
  ])("refuses to send reports to $url", ({ url, why }) => {
    expect(problems([...WHO, "--aggregator-url", url])).toContain(why);
  });

  it.each([{ url: "http://127.0.0.1:9809" }, { url: "http://mooring.example" }])(
    "refuses to show a token at $url",
    ({ url }) => {
      expect(problems([...WHO, TOKEN, "--aggregator-url", url])).toContain("a token is sent over https only");
    },
  );

  it("has no setting for unencrypted reports", () => {
    expect(problems([...NEEDED, "--allow-insecure-reports"])).toContain("unknown flag");
  });

  it("does not repeat a password in its error", () => {
    expect(problems([...NEEDED, "--aggregator-url", "https://user:secret@mooring.example"])).not.toContain("secret");
  });

  it.each([
    { given: "/data/kubelet", root: "/data/kubelet" },
    { given: "/data/kubelet/", root: "/data/kubelet" },
    { given: "/data//kubelet/", root: "/data/kubelet" },
    { given: "/", root: "/" },
    { given: "/données", root: Buffer.from("/données").toString("latin1") },
  ])("reads the kubelet root $given as the kernel would write it", ({ given, root }) => {
    expect(run([...NEEDED, "--kubelet-root", given]).kubeletRoot).toBe(root);
  });

  it.each([
    { name: "of an agent", argv: NEEDED },
    { name: "of a dry run", argv: ["--dry-run"] },
  ])("refuses a kubelet root $name that is not absolute", ({ argv }) => {
    expect(problems([...argv, "--kubelet-root", "var/lib/kubelet"])).toContain("must be an absolute path");
    expect(problems([...argv, "--kubelet-root", "/var/../lib"])).toContain("must be an absolute path");
  });

  it("needs few settings in a dry run", () => {
    const command = readAgentCommand({
      argv: ["--dry-run", "--output=json", "--mountinfo", "/proc/self/mountinfo"],
      env: {},
    });

    expect(command).toEqual({
      kind: "dry-run",
      config: {
        mountInfo: "/proc/self/mountinfo",
        bootId: "/proc/sys/kernel/random/boot_id",
        kubeletRoot: undefined,
        output: "json",
      },
    });
  });

  it("needs only the directory to prepare a node", () => {
    const argv = ["--prepare-journal", "--journal-dir", "/var/lib/mooring/"];

    expect(readAgentCommand({ argv, env: {} })).toEqual({ kind: "prepare-journal", directory: "/var/lib/mooring" });
    expect(problems(["--prepare-journal"])).toBe(
      "invalid configuration:\n  --journal-dir is missing: what is to be prepared?",
    );
  });

  it("prints the help, whatever else is wrong", () => {
    const command = readAgentCommand({ argv: ["--colour", "--help"], env: {} });

    expect(command).toMatchObject({ kind: "help", text: expect.stringContaining("--kubelet-root") });
  });
});
