import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPage } from "../pages/page.ts";
import { PROVISIONER_RUNBOOKS } from "../pages/provisioner-runbooks.ts";
import { openReader, type Reader, type Seen } from "../pages/reader.ts";
import { WRONG } from "../pages/words.ts";
import { HarnessError } from "../rig/process/errors.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { kubectl } from "./kubectl.ts";
import { makeTroubles, SHOP, SILENT, type Troubles, WORKER } from "./pages/troubles.ts";
import { leadingAggregator, readinessOf } from "./scenarios/failures/mooring.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
/** Those of the provisioner are followed where one runs. */
const RUNBOOKS = readdirSync(new URL("../../docs/runbooks", import.meta.url)).filter(
  (name) => /^Mooring/.test(name) && !PROVISIONER_RUNBOOKS.includes(name.replace(/\.md$/, "")),
);
const SILENT_LIMIT_MS = 180_000;
/** What there is not here: a container that ended before, the Prometheus operator, a service manager on the machine. */
const NOT_HERE = /--previous|get podmonitors|^timedatectl/;

let owner: Owner;
let signals: Disposable;
let troubles: Troubles;
let reader: Reader;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  troubles = await makeTroubles(owner);
  const { kubectl: program, kubeconfig } = troubles.cluster;
  const programs = { kubectl: `exec ${program} "$@"` };
  reader = await openReader({ folder: PROJECT, home: owner.folder, kubeconfig, programs });
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** A page's commands with the names of this cluster for those of the page. */
function commandsOf(path: string): string {
  const names: readonly (readonly [RegExp, string])[] = [
    [/\bworker-7\b/g, SILENT],
    [/\bworker-[23]\b|\bNODE\b/g, WORKER],
    [/\bpvc-0f3c\b/g, "pv-left"],
    [/\bPV\b/g, "pv-web"],
    [/\bweb-7c9\b/g, troubles.rejected],
  ];
  const lines = readPage(path).blocks.join("\n").split("\n");
  const here = lines.filter((line) => !NOT_HERE.test(line)).join("\n");
  return names.reduce((text, [name, value]) => text.replace(name, value), here);
}

/** Does what the first page says is for all pages, waits for the port as a reader does, and goes on with a page. */
async function readTroubleshooting(page: string): Promise<Seen> {
  const [forward = "", functions = ""] = readPage("troubleshooting/README.md").blocks;
  const open = "until curl -s -o /dev/null http://127.0.0.1:9809/livez; do sleep 0.1; done";
  const commands = commandsOf(page).replace(/^.* port-forward .*$/m, "");
  return await reader.look([forward.replace("&", "> /dev/null &"), functions, open, commands].join("\n"));
}

describe("docs/troubleshooting, command by command on a cluster in trouble", () => {
  it.each([
    {
      page: "README.md",
      shows: [/pod\/mooring-agent-/, /"mountedVolumes"/, /volumes\/kubernetes.io~csi\/pv-left\/mount/],
    },
    {
      page: "claim-says-unused.md",
      shows: [
        /orders .*Unmounted/,
        /left .*STILL MOUNTED/,
        /"reason": "Unmounted"/,
        /"mountedOn": \{\s*"items": \[\],/,
      ],
    },
    {
      page: "pod-was-rejected.md",
      shows: [
        /^Pod was rejected: the node affinity of volume pv-web of claim web excludes node /m,
        /"operator":"In","values":\["node-1"\]/,
        /Created pod: web-/,
        /"finding":"wrong"/,
        /"msg":"pod rejected"/,
      ],
    },
    {
      page: "mount-is-leaked.md",
      shows: [
        /"name":"left","mounted":.*"gone":true/,
        /"pod":"shop\/left".*"unusedAgeMs":\d/,
        /^\d+ .* \/var\/lib\/kubelet\/pods\/.*\/pv-left\/mount/m,
        /grpc_status_code="Unavailable",method_name="\/csi.v1.Node\/NodeUnpublishVolume"/,
      ],
    },
  ])("$page shows the cause", async ({ page, shows }) => {
    const { stdout, stderr } = await readTroubleshooting(`troubleshooting/${page}`);

    expect(stderr).not.toMatch(WRONG);
    for (const cause of shows) expect(stdout).toMatch(cause);
  });

  it("node-is-silent.md shows the cause", async () => {
    const isSilent = async (): Promise<void> => {
      const { text } = await readinessOf(troubles, await leadingAggregator(troubles));
      if (!text.includes(`(${SILENT})`)) throw new HarnessError(text);
    };
    await troubles.until(`${SILENT} counts as silent`, isSilent, SILENT_LIMIT_MS);
    await kubectl(troubles.cluster, "delete", "pod", "reports", `--namespace=${SHOP}`, "--wait=false");
    await troubles.until("the claim that waits for it", async () =>
      expect(await reader.follow(`kubectl -n ${SHOP} get pvc reports -o json`)).toContain(
        "every pod that names the claim has",
      ),
    );

    const { stdout, stderr } = await readTroubleshooting("troubleshooting/node-is-silent.md");

    expect(stderr).not.toMatch(WRONG);
    expect(stdout).toMatch(/\[\+\]reports ok \(degraded\): none has been accepted for \d+ s/);
    expect(stdout).toMatch(/Connect Timeout Error.*"msg":"report not delivered"/);
    expect(stdout).toMatch(/"state": "Stale"/);
    expect(stdout).toMatch(/^shop\/reports$/m);
  });
});

describe("docs/runbooks", () => {
  it.each(RUNBOOKS)("%s has commands that are right", async (name) => {
    const { stdout, stderr } = await reader.look(commandsOf(`runbooks/${name}`));

    expect(stderr).not.toMatch(WRONG);
    // Nothing is printed of a table that is whole.
    expect(stdout.length > 0).toBe(name !== "MooringMountTableMalformed.md");
  });
});
