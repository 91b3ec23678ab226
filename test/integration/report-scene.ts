import { createSign } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ClientRequest } from "node:http";
import { request } from "node:https";
import { dirname, join } from "node:path";
import { boolean, object, optional, parse, record, string } from "valibot";
import { CERTIFICATES_NAME } from "../../common/storage/published-certificates.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { BareCluster, RunningAggregator } from "./bare-cluster.ts";

export const AGENTS = "mooring-agents";
const AUDIENCE = "mooring-aggregator";
const PODS = `/api/v1/namespaces/${AGENTS}/pods`;

const created = object({ metadata: object({ uid: string() }) });
const issued = object({ status: object({ token: string() }) });
const reviewed = object({ status: object({ authenticated: optional(boolean()) }) });
const bundle = object({ data: record(string(), string()) });

/** As the namespace's policy wants it. Nobody runs it: a token can be bound to it. */
const POD = {
  securityContext: { runAsNonRoot: true, runAsUser: 65_534, seccompProfile: { type: "RuntimeDefault" } },
  containers: [
    {
      name: "agent",
      image: "none",
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      },
    },
  ],
} as const;

/** A pod that an agent runs in, as the API knows it. */
export interface AgentPod {
  readonly name: string;
  readonly uid: string;
}

/** What is asked of the API server for a token. */
export interface TokenWish {
  readonly account?: string;
  readonly audiences?: readonly string[];
  readonly pod?: AgentPod | undefined;
}

/** Where a pod is, and as whom it runs. */
export interface PodPlace {
  readonly node?: string;
  readonly account?: string;
}

/** A pod, by default of the agents' account; without a node it is not scheduled yet. */
export async function createAgentPod(
  { api }: Pick<BareCluster, "api">,
  name: string,
  { node, account = "mooring-agent" }: PodPlace,
): Promise<AgentPod> {
  const spec = { ...POD, serviceAccountName: account, ...(node === undefined ? {} : { nodeName: node }) };
  const pod = parse(created, await api.create(PODS, { metadata: { name }, spec }));
  return { name, uid: pod.metadata.uid };
}

/** A real token; by default of the agents' account and for the aggregator. */
export async function requestToken(
  { api }: Pick<BareCluster, "api">,
  { account = "mooring-agent", audiences = [AUDIENCE], pod }: TokenWish,
): Promise<string> {
  const bound = pod === undefined ? {} : { boundObjectRef: { apiVersion: "v1", kind: "Pod", ...pod } };
  const spec = { audiences, expirationSeconds: 600, ...bound };
  const answer = await api.create(`/api/v1/namespaces/${AGENTS}/serviceaccounts/${account}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec,
  });
  return parse(issued, answer).status.token;
}

/** Waits until the API server itself no longer knows a token: for a moment after the end of its pod, its own caches do. */
export async function untilUnknown(
  owner: Owner,
  { api }: Pick<BareCluster, "api">,
  { token, limitMs }: { readonly token: string; readonly limitMs: number },
): Promise<void> {
  await waitUntil(owner, {
    what: "the end of a token",
    limitMs,
    check: async () => {
      const review = { spec: { token, audiences: [AUDIENCE] } };
      const answer = parse(reviewed, await api.create("/apis/authentication.k8s.io/v1/tokenreviews", review));
      if (answer.status.authenticated === true) throw new Error("the API server still knows it");
    },
  });
}

/** The same claims with others among them, signed by the API server's own key: what it would issue at another time. */
export function reissued({ plane }: Pick<BareCluster, "plane">, token: string, claims: object): string {
  const [head = "", body = ""] = token.split(".");
  const changed = { ...JSON.parse(Buffer.from(body, "base64url").toString()), ...claims };
  const signed = `${head}.${Buffer.from(JSON.stringify(changed)).toString("base64url")}`;
  const key = readFileSync(join(dirname(plane.kubeconfig), "service-account.key"), "utf8");
  const { alg } = JSON.parse(Buffer.from(head, "base64url").toString());
  const options = alg === "ES256" ? ({ key, dsaEncoding: "ieee-p1363" } as const) : key;
  return `${signed}.${createSign("SHA256").update(signed).sign(options).toString("base64url")}`;
}

/** The certificates that agents trust; undefined while none is published. */
export async function publishedCertificates({ api }: Pick<BareCluster, "api">): Promise<string | undefined> {
  const path = `/api/v1/namespaces/${AGENTS}/configmaps/${CERTIFICATES_NAME}`;
  const read = await api.get(path).catch(() => undefined);
  return read === undefined ? undefined : Object.values(parse(bundle, read).data).join("");
}

/** Where an aggregator takes reports, once it has a certificate. */
export async function reportAddress(
  owner: Owner,
  { logger, page }: Pick<RunningAggregator, "logger" | "page">,
): Promise<URL> {
  const check = async (): Promise<void> => {
    const ready = await page("/readyz?verbose");
    if (ready.includes("[+]certificate ok: it lasts for ")) return;
    throw new Error(`${ready}\n${JSON.stringify(logger.lines.filter(({ level }) => level === "warn"))}`);
  };
  await waitUntil(owner, { what: "a certificate", limitMs: 20_000, check });
  const started = logger.lines.find(({ message }) => message === "aggregator started");
  return new URL(String(started?.fields.reports));
}

/** A request by any client, which need not be an agent. */
export interface Sending {
  readonly node?: string;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Announced, and not sent. */
  readonly missingBytes?: number;
}

/** Over a connection of its own; the status and the text of the answer. */
export function put(
  { hostname, port }: URL,
  ca: string,
  { node = "n1", token, headers = {}, body = "", missingBytes = 0 }: Sending,
): Promise<{ readonly status: number; readonly text: string }> {
  const length = Buffer.byteLength(body) + missingBytes;
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const path = `/v1/nodes/${node}/report`;
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request(
      {
        ...{ hostname, port, ca, path, method: "PUT", agent: false },
        headers: { "content-length": length, ...authorization, ...headers },
      },
      (answer) => {
        let text = "";
        answer.on("data", (chunk) => {
          text += chunk;
        });
        answer.on("end", () => {
          sent.destroy();
          resolve({ status: answer.statusCode ?? 0, text });
        });
      },
    );
    sent.on("error", reject);
    sent.write(body);
    if (missingBytes === 0) sent.end();
  });
}
