import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readAgentCommand } from "../../../agent/config.ts";
import { enforcesItself } from "../../../agent/core/affinity/kubelet-version.ts";
import { createNodeFacts } from "../../../agent/sources/node-facts.ts";
import { readAggregatorCommand } from "../../../aggregator/settings/config.ts";
import { listRoutes } from "../../../aggregator/sources/list-stream.ts";
import { reportRoute } from "../../../aggregator/sources/report-server.ts";
import { linesOf, parseLine } from "../../../cli/answer-lines.ts";
import { readClaimEntry } from "../../../cli/claim-entry.ts";
import { readClaimsCommand } from "../../../cli/flags.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import { createRouter } from "../../../common/runtime/http-server.ts";
import { decodeNodeMessage } from "../../../common/storage/node-report.ts";
import { readKeeperCommand } from "../../../provisioner/keeper/config.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import { oneStep } from "../../fakes/steps.ts";
import { reportWith } from "../../unit/aggregator/world.ts";
import { type FuzzTarget, inputOf, promise, unless, utf8Of } from "../target.ts";

const isConfigInvalid = (error: unknown): boolean => error instanceof MooringError && error.code === "config-invalid";

/** Arguments, one line each; a line with a name in capitals and `=` is an environment variable. */
export const settings: FuzzTarget = {
  name: "settings",
  about: "flags and environment variables of the agent, the aggregator and the kubectl plugin",
  seeds: [
    "--node=n1\n--pod-uid=u1\n--aggregator-url=http://127.0.0.1:9809\n--journal-dir=/var/lib/mooring\n--heartbeat=30s",
    "--api-bind-address=127.0.0.1:9809\n--node-stale-after=90s\n--log-level=info\nMOORING_API_BIND_ADDRESS=[::1]:0\nMOORING_LEADER_ELECT=true",
    "-A\n-o\njson\n--namespace\nshop\n--aggregator=http://127.0.0.1:9809\nMOORING_AGGREGATOR=none",
    "--pool=fast=/pools/fast,slow=/pools/slow\n--reserve=20\n--socket-group=60873",
    "--dry-run\n--output=json\n--kubelet-root=/var/lib/kubelet",
  ],
  words: [
    "--",
    "=",
    "--help",
    "--dry-run",
    "--affinity=enforce",
    "MOORING_",
    "[::1]:",
    "https://",
    "999999h",
    "--no-",
    "\u0000",
    "%",
  ],
  take: (input) => {
    const lines = utf8Of(input).split("\n");
    const isVariable = (line: string): boolean => /^[A-Z_]+=/.test(line);
    const env = Object.fromEntries(lines.filter(isVariable).map((line) => line.split(/=(.*)/s, 2)));
    const given = { argv: lines.filter((line) => !isVariable(line)), env };
    unless(isConfigInvalid, () => readAgentCommand(given));
    unless(isConfigInvalid, () => readAggregatorCommand(given));
    unless(isConfigInvalid, () => readKeeperCommand(given));
    readClaimsCommand(given);
  },
};

const QUERY = "namespace=shop&name=data&name=other";

/** A request: method and target on the first line, then the body. */
export const requests: FuzzTarget = {
  name: "requests",
  about: "methods, paths, queries and bodies that reach the aggregator's server",
  seeds: [
    `GET /v1/claims?${QUERY}\n`,
    "GET /v1/claims?limit=1000&continue=eyJ\n",
    `PUT /v1/nodes/n1/report\n${JSON.stringify(reportWith())}`,
    "GET /livez\n",
  ].map(inputOf),
  words: [
    "/v1/",
    "%2F",
    "%",
    "%ff",
    "..",
    "//",
    "?",
    "&",
    "continue=",
    "limit=",
    "http://",
    "@",
    "#",
    "[",
    "eyJ",
    "\u0000",
  ],
  take: async (input) => {
    const [line = "", ...rest] = input.split("\n");
    const [method = "", target = ""] = line.split(" ");
    const logger = createFakeLogger();
    const router = createRouter(routes(), logger);
    const { status, body } = await router({ method, target, body: async () => utf8Of(rest.join("\n")) });
    promise(status < 500, `an answer is never our own fault: ${JSON.stringify(logger.lines)}`);
    promise(body.length < 16_384 * 8, "no answer is much longer than what was asked");
  },
};

function routes() {
  const { apiVersion: _, kind: __, ...head } = HEADER;
  const taker = {
    turnAway: () => undefined,
    retryAfterSeconds: () => 0,
    onReport: () => oneStep({ kind: "accepted" as const, answer: { forget: [] } }),
    pauseRejections: () => undefined,
    session: () => undefined,
    yieldToEventLoop: () => undefined,
  };
  const source = () => ({ head: () => head, objects: () => [], signal: new AbortController().signal });
  return [reportRoute(taker, { increment: () => {} }), ...listRoutes(createFakeClock(), source)];
}

const HEADER = {
  ...{ apiVersion: "api.mooring.dev/v2", kind: "ClaimList", cluster: "uid", serverTime: "2026-11-22T02:00:00Z" },
  nodes: { total: 1, stale: 0, unreported: 0 },
} as const;

/** The aggregator's list, as the kubectl plugin reads it. */
export const claimLines: FuzzTarget = {
  name: "claim-lines",
  about: "lines of the list of claims, from any server at the address in the kubectl plugin's settings",
  seeds: [inputOf(`${JSON.stringify(HEADER)}\n{"complete":true,"entries":0}\n`)],
  words: ["\n", "serverTime", "complete", "status", "condition", "lastUse", "live", "Unused", "mountedOn"],
  take: async (input) => {
    const body = async function* () {
      yield Buffer.from(input, "latin1");
    };
    for await (const line of linesOf(body())) readClaimEntry(parseLine(line));
  },
};

/** In memory where possible: a disk would take most of the time. */
const BASE = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** Files of the kernel with facts about the node, all with the same text, and the kubelet's version. */
export const nodeFacts: FuzzTarget = {
  name: "node-facts",
  about: "files of procfs and the kubelet's version, which distributions write as they like",
  seeds: ["btime 1789000000\nnodev\tselinuxfs\n", "v1.36.3+k3s1", "5b7a6f4e-0000-4000-8000-000000000001\n", "Y\n"],
  words: ["btime ", "nodev\t", "selinuxfs", "v1.", "-eks-", "+", "\t", "\u00e4"],
  take: async (input) => {
    enforcesItself(utf8Of(input), [1, 37, 0]);
    const folder = mkdtempSync(join(BASE, "mooring-fuzz-"));
    const file = join(folder, "file");
    writeFileSync(file, input, "latin1");
    const paths = {
      mountInfo: file,
      ownMountInfo: `${file}-none`,
      bootId: file,
      stat: file,
      filesystems: file,
      apparmor: file,
    };
    try {
      const found = await createNodeFacts(paths, { clock: createFakeClock() }).read(new AbortController().signal);
      const decoded = decodeNodeMessage(JSON.parse(JSON.stringify({ ...reportWith(), facts: found.facts })));
      promise(decoded.ok, "the facts of a node can be reported");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
