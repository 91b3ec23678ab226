import { X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CERTIFICATES_NAME } from "../../../common/storage/published-certificates.ts";
import { rolledOut } from "../../image/rollout.ts";
import { readPage } from "../../pages/page.ts";
import type { Reader } from "../../pages/reader.ts";
import { type CertificateAuthority, createAuthority, type KeyPair } from "../../rig/control-plane/certificates.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { openAdministrator } from "../administrator.ts";
import { quantile, seconds } from "../affinity/figures.ts";
import { setAgents } from "../affinity/stage.ts";
import { requireServed, servedToAgents, triesOfAgents, trustedByAgents } from "../agents.ts";
import { kubectl } from "../kubectl.ts";
import { agentOn, metricOf, readinessOf } from "../scenarios/failures/mooring.ts";
import { NODES, openStage, type Stage } from "../scenarios/stage.ts";
import { type ChangeOver, changeOver } from "./change-over.ts";
import { runForAll, timedRow } from "./run.ts";

const PAGE = readPage("reports.md");
const SECTION = "### External certificates";
const MINE = "manifests/mine/kustomization.yaml";
const NAME = "mooring-aggregator.mooring.svc";
/** The page's two minutes, and time to see it. */
const LIMIT_MS = 150_000;
const TRIAL_MS = 480_000;
/** What certificates of its own take of the aggregator. */
const RIGHTS = ["get", "patch", "create"].map((verb) => `${verb} configmaps/${CERTIFICATES_NAME} -n mooring-agents`);
/** What it has neither before nor after. */
const NEVER = [
  "list secrets -n mooring",
  "create secrets -n mooring",
  "get secrets/mooring-given-tls -n mooring",
  "get secrets -n default",
] as const;

let stage: Stage;
let reader: Reader;
/** The folder of one's own, as the page on the installation makes it. */
let mine: string;
let company: CertificateAuthority;
const rows: (readonly string[])[] = [];

runForAll(
  async (owner) => {
    stage = await openStage(owner, { hasMooring: false });
    reader = await openAdministrator(owner, stage.cluster);
    await reader.follow(readPage("install.md").block("### With kubectl"));
    mine = await readFile(join(owner.folder, MINE), "utf8");
    // Else half a minute without a report would be as it should be.
    await setAgents(stage, "MOORING_HEARTBEAT=1s");
  },
  () => [["certificates of somebody else", ""], ...rows],
);

/** As the page does it, with files. */
async function give({ certificate, key }: KeyPair, ...authorities: readonly CertificateAuthority[]): Promise<void> {
  const trusted = authorities.map((one) => `${one.certificate}\n`).join("");
  const files = { "tls.crt": certificate, "tls.key": key, "ca.crt": trusted };
  for (const [name, text] of Object.entries(files)) await writeFile(join(stage.owner.folder, name), text);
  await reader.follow(PAGE.block(SECTION, 1));
}

async function applyMine(text: string): Promise<void> {
  await writeFile(join(stage.owner.folder, MINE), text);
  await reader.follow("kubectl apply -k manifests/mine");
}

function withComponent(): string {
  const [head = "", ...components] = PAGE.block(SECTION).split("\n");
  const text = mine.replace(`${head}\n`, [head, ...components].join("\n"));
  expect(text).not.toBe(mine);
  return text;
}

function fingerprintOf({ certificate }: KeyPair): string {
  return new X509Certificate(certificate).fingerprint256;
}

async function timed(what: string, check: () => Promise<unknown>): Promise<void> {
  rows.push(await timedRow(stage, { what, limitMs: LIMIT_MS, check }));
}

async function requireAnswered(): Promise<void> {
  for (const node of NODES) {
    const agent = await agentOn(stage, node);
    const { isReady, text } = await readinessOf(stage, agent);
    const open = await metricOf(stage, agent, "mooring_unmount_records_unacknowledged");
    if (!isReady || text.includes("degraded") || open !== 0) throw new HarnessError(`${open} open on ${node}: ${text}`);
  }
}

/** Changes what is installed to what serves such a certificate, and notes how that went. */
async function changeTo(name: string, text: string, isIt: (fingerprint: string) => boolean): Promise<ChangeOver> {
  const over = async (): Promise<void> => {
    await rolledOut(stage.cluster);
    await stage.until(
      "such a certificate for every agent",
      async () => void (await requireServed(stage, isIt)),
      LIMIT_MS,
    );
    await stage.until("reports that are answered", requireAnswered, LIMIT_MS);
  };
  const found = await changeOver(stage, { name, begin: () => applyMine(text), over });
  rows.push(
    [`${name}: from the apply until both are rolled out and every report is answered`, seconds(found.tookMs)],
    [`${name}: the longest time in which no report of a node was accepted`, seconds(found.longestMs)],
    [`${name}: tries to report that failed meanwhile`, String(found.failed)],
    [`${name}: uses that ended meanwhile`, String(found.lateMs.length)],
    [`${name}: said to have ended later than they did, half of them by at most`, seconds(quantile(found.lateMs, 0.5))],
    [`${name}: all of them by at most`, seconds(quantile(found.lateMs, 1))],
  );
  return found;
}

/** Which of these the aggregator's account may do. */
async function allowedOf(rights: readonly string[]): Promise<readonly string[]> {
  const answers = await Promise.all(
    rights.map(async (right) => {
      const as = "--as=system:serviceaccount:mooring:mooring-aggregator";
      return (await reader.look(`kubectl auth can-i ${right} ${as}`)).stdout.trim();
    }),
  );
  return rights.filter((_, index) => answers[index] === "yes");
}

/** All pods of Mooring's, and how often each was started anew. */
async function processes(): Promise<readonly string[]> {
  const path = "{range .items[*]}{.metadata.uid} {.status.containerStatuses[0].restartCount} {end}";
  const list = (namespace: string): Promise<string> =>
    kubectl(stage.cluster, "get", "pods", `--namespace=${namespace}`, `--output=jsonpath=${path}`);
  return await Promise.all(["mooring", "mooring-agents"].map(list));
}

async function replicas(): Promise<readonly string[]> {
  const path = "--output=jsonpath={.items[*].status.podIP}";
  return (await kubectl(stage.cluster, "get", "pods", "--namespace=mooring", path)).split(" ");
}

describe("an installation that makes its own certificates", () => {
  it("may publish them, and read and write no Secret", async () => {
    expect(await allowedOf([...RIGHTS, ...NEVER])).toEqual(RIGHTS);
  });
});

describe("external certificates, installed as in docs/reports.md", () => {
  it("are served and trusted after one apply, and nothing that is seen meanwhile is lost", {
    timeout: TRIAL_MS,
  }, async () => {
    company = await createAuthority("company");
    const pair = await company.server([NAME]);
    await give(pair, company);

    const { faults } = await changeTo("given", withComponent(), (served) => served === fingerprintOf(pair));

    expect(faults).toEqual([]);
  });

  it("take the right to read or write a ConfigMap", async () => {
    expect(await allowedOf([...RIGHTS, ...NEVER])).toEqual([]);
  });

  it("make what was published useless", async () => {
    await kubectl(stage.cluster, "delete", "configmap", CERTIFICATES_NAME, "--namespace=mooring-agents");
    const before = await triesOfAgents(stage);

    await stage.owner.clock.sleep(5_000, stage.owner.signal);

    const after = await triesOfAgents(stage);
    expect(after.failed - before.failed).toBe(0);
    expect(after.accepted).toBeGreaterThan(before.accepted);
  });

  it("are followed when another authority replaces theirs, without a restart or a report that is not taken", {
    timeout: TRIAL_MS,
  }, async () => {
    const [started, before] = [await processes(), await triesOfAgents(stage)];
    const other = await createAuthority("company, a year later");
    const [old, pair] = [await company.server([NAME]), await other.server([NAME])];

    await give(old, company, other);
    await timed("renewed: both authorities are in every agent's file, after", async () =>
      expect(await trustedByAgents(stage)).toEqual([2, 2]),
    );
    await give(pair, company, other);
    await timed("renewed: what the other one signed is served, after", () =>
      requireServed(stage, (served) => served === fingerprintOf(pair)),
    );
    const shown = async (): Promise<void> => {
      const served = await Promise.all((await replicas()).map((address) => servedToAgents(stage, address)));
      expect(new Set(served.flat())).toEqual(new Set([fingerprintOf(pair)]));
    };
    await timed("renewed: and by the replica that does not lead, after", shown);
    await give(pair, other);
    await timed("renewed: the old authority is in no agent's file, after", async () =>
      expect(await trustedByAgents(stage)).toEqual([1, 1]),
    );
    await stage.owner.clock.sleep(5_000, stage.owner.signal);

    const after = await triesOfAgents(stage);
    rows.push(["renewed: reports meanwhile that were accepted", String(after.accepted - before.accepted)]);
    rows.push(["renewed: reports meanwhile that were not", String(after.failed - before.failed)]);
    expect(after.failed - before.failed).toBe(0);
    expect(await processes()).toEqual(started);
  });
});

describe("an overlay without the component again", () => {
  it("has its own certificates, and nothing that is seen meanwhile is lost", { timeout: TRIAL_MS }, async () => {
    const [given = ""] = await servedToAgents(stage);

    const { faults } = await changeTo("own-again", mine, (served) => served !== given);

    expect(faults).toEqual([]);
    expect(await allowedOf([...RIGHTS, ...NEVER])).toEqual(RIGHTS);
  });
});
