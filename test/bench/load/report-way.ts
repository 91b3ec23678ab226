import { writeFileSync } from "node:fs";
import * as v from "valibot";
import { CERTIFICATES_NAME } from "../../../common/storage/published-certificates.ts";
import { createAuthority } from "../../rig/control-plane/certificates.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { waitUntil } from "../../rig/process/wait.ts";
import { accountPod } from "../../rig/stand-in/account-pods.ts";
import { forEachIndex } from "../cluster/concurrency.ts";
import { nodeName } from "../cluster/layout.ts";
import { createWriter, type ObjectWriter } from "../cluster/writer.ts";

/** How reports get to a server: the address, the transport and the identity. No other file of this bench knows these. */
export interface ReportWay {
  readonly target: { readonly origin: string; readonly ca?: string; readonly serverName?: string };
  /** Of the agent of a node, by the node's number. */
  readonly headersOf: (node: number) => Readonly<Record<string, string>>;
  /** The pod of the agent's token, if it has one. */
  readonly podUidOf: (node: number) => string;
}

/** The same to another server of this machine with a certificate of its own; it reviews no tokens. */
export function wayTo(
  way: ReportWay,
  { port, certificate }: { readonly port: number } & Pick<BarePair, "certificate">,
): ReportWay {
  return { ...way, target: { ...way.target, origin: `https://127.0.0.1:${port}`, ca: certificate } };
}

/** Flags of an aggregator that takes reports as in a cluster, at this port. */
export function reportFlags(port: number): readonly string[] {
  return ["--report-bind-address", `127.0.0.1:${port}`, "--pod-namespace", "mooring"];
}

const NAMESPACE = "mooring-agents";
const WORKERS = 64;
const SERVER_NAME = "mooring-aggregator.mooring.svc";

const made = v.object({ metadata: v.object({ name: v.string(), uid: v.string() }) });
const request = v.object({ status: v.object({ token: v.string() }) });
const published = v.object({ data: v.record(v.string(), v.string()) });

/** An agent as the API server knows it. */
export interface AgentToken {
  readonly podUid: string;
  readonly token: string;
}

/** A pod on each node, like the DaemonSet's, and a token for each, like the kubelet's. */
export async function agentTokens(owner: Owner, plane: ControlPlane, nodes: number): Promise<readonly AgentToken[]> {
  const writer = await createWriter(owner, plane);
  const tokens: AgentToken[] = [];
  await forEachIndex({ count: nodes, workers: WORKERS, signal: owner.signal }, async (node) => {
    tokens[node] = await agentToken(writer, node);
  });
  return tokens;
}

async function agentToken(writer: ObjectWriter, node: number): Promise<AgentToken> {
  const object = agentPod(node);
  const pod = v.parse(made, JSON.parse(await writer.create(`/api/v1/namespaces/${NAMESPACE}/pods`, object, "bench")));
  const { name, uid } = pod.metadata;
  const spec = {
    audiences: ["mooring-aggregator"],
    // A real token lasts ten minutes and is renewed after eight: the bench would measure its own renewals.
    expirationSeconds: 7_200,
    boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
  };
  const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/mooring-agent/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: {}, spec };
  const answer = await writer.create(path, body, "bench");
  return { podUid: uid, token: v.parse(request, JSON.parse(answer)).status.token };
}

function agentPod(node: number): ReturnType<typeof accountPod> {
  const account = { namespace: NAMESPACE, name: "mooring-agent" };
  const labels = { "app.kubernetes.io/name": account.name };
  return accountPod(account, { name: `${account.name}-${node}`, nodeName: nodeName(node), labels });
}

/** Over TLS, with the certificate that the aggregator publishes, each as the pod of its node. */
export async function securedWay(
  owner: Owner,
  plane: ControlPlane,
  { port, tokens }: { readonly port: number; readonly tokens: readonly AgentToken[] },
): Promise<ReportWay> {
  const writer = await createWriter(owner, plane);
  let ca = "";
  await waitUntil(owner, {
    what: "the aggregator's certificate",
    limitMs: 60_000,
    check: async () => {
      const path = `/api/v1/namespaces/${NAMESPACE}/configmaps/${CERTIFICATES_NAME}`;
      ca = Object.values(v.parse(published, JSON.parse(await writer.read(path, "application/json"))).data).join("");
    },
  });
  return {
    target: { origin: `https://127.0.0.1:${port}`, ca, serverName: SERVER_NAME },
    headersOf: (node) => ({ authorization: `Bearer ${tokens[node]?.token}` }),
    podUidOf: (node) => tokens[node]?.podUid ?? "",
  };
}

/** A certificate and its key, and the files with them. */
interface BarePair {
  readonly certificate: string;
  readonly files: readonly [certificate: string, key: string];
}

/** For the server that is the baseline: the aggregator's own key is in its memory alone. */
export async function writeBarePair({ folder }: Owner): Promise<BarePair> {
  const authority = await createAuthority("bench");
  const { certificate, key } = await authority.server([SERVER_NAME]);
  const files = [`${folder}/bare.crt`, `${folder}/bare.key`] as const;
  writeFileSync(files[0], certificate);
  writeFileSync(files[1], key, { mode: 0o600 });
  return { certificate: authority.certificate, files };
}
