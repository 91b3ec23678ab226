import { array, object, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rollOut } from "../image/rollout.ts";
import { type NodeCluster, startNodeCluster } from "../rig/node/cluster.ts";
import { WORKLOAD_IMAGE } from "../rig/node/workload.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { apply, kubectl } from "./kubectl.ts";
import { SEARCH } from "./search.ts";

const PASSWORD = "a-password-of-somebody-else";
const TOKEN_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/token";

const JOURNAL = "/var/lib/mooring";
const EARLIER_FILE = `${JOURNAL}/journal.sqlite.damaged-1`;
/** What an earlier Mooring, whose agents were nobody, left on a node. */
const EARLIER_JOURNAL = `mkdir -m 0700 ${JOURNAL} && umask 077 && echo earlier > ${EARLIER_FILE} && chown -R 65534:65534 ${JOURNAL}`;

let owner: Owner;
let signals: Disposable;
let cluster: NodeCluster;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startNodeCluster(owner, { nodes: 1 });
  await cluster.nodes[0]?.run("sh", "-c", EARLIER_JOURNAL);
  await rollOut(owner, cluster);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** A field of a workload or pod. */
function fieldOf(namespace: string, what: string, path: string): Promise<string> {
  return kubectl(cluster, "get", `--namespace=${namespace}`, ...what.split(" "), `--output=jsonpath={${path}}`);
}

/** What JavaScript prints in a pod of Mooring's. */
async function evaluate(namespace: string, code: string, ...args: readonly string[]): Promise<string> {
  const pod = await fieldOf(namespace, "pods", ".items[0].metadata.name");
  return await kubectl(cluster, "exec", `--namespace=${namespace}`, pod, "--", "node", "--eval", code, ...args);
}

/** Starts a pod with a password in its environment and in a file; answers its token. */
async function startVictim(name: string, runAsUser: number): Promise<string> {
  const line = "echo $PASSWORD > /scratch/file; exec sleep 3600";
  const container = {
    name: "main",
    image: WORKLOAD_IMAGE,
    command: ["/bin/sh", "-c", line],
    env: [{ name: "PASSWORD", value: PASSWORD }],
    volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
  };
  const spec = {
    securityContext: { runAsUser, runAsGroup: runAsUser, fsGroup: runAsUser },
    terminationGracePeriodSeconds: 1,
    containers: [container],
    volumes: [{ name: "scratch", emptyDir: {} }],
  };
  await apply(cluster, { apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
  const inside = ["exec", name, "--", "cat"];
  const check = async (): Promise<void> =>
    expect(await kubectl(cluster, ...inside, "/scratch/file")).toBe(`${PASSWORD}\n`);
  await waitUntil(owner, { what: `${name} to run`, limitMs: 60_000, check });
  return await kubectl(cluster, ...inside, TOKEN_FILE);
}

const Found = object({ paths: array(string()), processes: array(string()) });

/** Where the agent's container shows a text. Backwards, because the search's own command line is there, too. */
async function foundByAgent(...texts: readonly string[]) {
  const backwards = texts.map((text) => [...text].reverse().join(""));
  return parse(Found, JSON.parse(await evaluate("mooring-agents", SEARCH, ...backwards)));
}

describe("the agent's container", () => {
  it("shows nothing of another process, not of one with its own user either", async () => {
    const user = Number(
      await fieldOf("mooring-agents", "daemonset mooring-agent", ".spec.template.spec.securityContext.runAsUser"),
    );
    const tokens = [await startVictim("same-user", user), await startVictim("nobodys", 65_534)];
    const aggregators = await evaluate("mooring", `process.stdout.write(fs.readFileSync("${TOKEN_FILE}"))`);

    const { paths, processes } = await foundByAgent(PASSWORD, ...tokens, aggregators);

    expect(paths).toEqual([]);
    // The agent and the search.
    expect(processes).toHaveLength(2);
  });

  it("is searched where it shows its own process and its own token, so that the row above means something", async () => {
    const own = await evaluate("mooring-agents", `process.stdout.write(fs.readFileSync("${TOKEN_FILE}"))`);

    const { paths } = await foundByAgent("MOORING_AGGREGATOR_URL=", own);

    expect(paths).toContain("/proc/1/environ");
    expect(paths).toContain(TOKEN_FILE);
  });

  it("shows of the node's processes the first one's mount table, and cannot write there", async () => {
    const code = `console.log(fs.readdirSync("/host").join(), fs.readFileSync("/host/mountinfo", "latin1").includes("/kubelet/pods/"));
      try { fs.openSync("/host/mountinfo", "r+"); console.log("opened") } catch ({ code }) { console.log(code) }`;

    const [shown, written] = (await evaluate("mooring-agents", code)).split("\n");

    expect(shown).toBe("mountinfo true");
    expect(written).toMatch(/^E(ROFS|ACCES)$/);
  });
});

describe("the journal's directory of an earlier Mooring", () => {
  it("is the agent's by now, and so are the files in it", async () => {
    const code = `const { uid, gid, mode } = fs.statSync("${JOURNAL}"); console.log(uid, gid, (mode & 0o777).toString(8),
      fs.readFileSync("${EARLIER_FILE}", "utf8").trim(), fs.existsSync("${JOURNAL}/journal.sqlite"))`;

    expect((await evaluate("mooring-agents", code)).trim()).toBe("60871 60871 700 earlier true");
  });
});

describe("the programs of Mooring", () => {
  it("have users and groups that are not each other's and that no image is likely to have", async () => {
    const code = "console.log([process.getuid(), process.getgid(), ...process.getgroups()].join())";

    const [agent = "", aggregator = ""] = await Promise.all(
      ["mooring-agents", "mooring"].map(async (namespace) => (await evaluate(namespace, code)).trim()),
    );

    expect([agent, aggregator]).toEqual(["60871,60871,60871", "60872,60872,60872"]);
  });
});
