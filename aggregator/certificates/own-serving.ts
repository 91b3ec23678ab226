import { isDeepStrictEqual } from "node:util";
import type { KubeParts } from "../../common/kube/client.ts";
import { type ConfigMap, readConfigMap, type Texts, writeConfigMap } from "../../common/kube/config-map.ts";
import { readCertificate } from "../../common/runtime/certificates.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import type { ServingPair } from "../../common/runtime/http-server.ts";
import { CERTIFICATES_NAME } from "../../common/storage/published-certificates.ts";
import { makeSelfSigned } from "./self-signed.ts";
import { createServing, type Serving } from "./serving.ts";

export interface OwnCertificate {
  /** Of all replicas this one alone has this name: its pod's. */
  readonly replica: string;
  /** Names and IP addresses under which agents reach the aggregator. */
  readonly names: readonly string[];
  readonly agentNamespace: string;
}

/** How a key of the ConfigMap ends; the policy admits no other. */
export const KEY_END = ".crt";
/** Other replicas write the same object; after more conflicts in a row another client interferes. */
const MOST_TRIES = 5;
const LIFETIME_MS = 90 * 86_400_000;
/** So long before it expires a certificate is made anew: time to notice a failure. */
const RENEWED_BEFORE_MS = 30 * 86_400_000;
/** Far from the limit of an object's size, and more than there are new pods in the life of a certificate. */
const MOST_ENTRIES = 256;
const FIELD_MANAGER = "mooring-aggregator";
const LABELS = { "app.kubernetes.io/name": FIELD_MANAGER, "app.kubernetes.io/part-of": "mooring" };

/** Makes a certificate, publishes it, then serves it. Its key stays in memory. `nowMs`: by the API server's clock. */
export function createOwnServing(
  parts: KubeParts & { readonly nowMs: () => number },
  { replica, names, agentNamespace }: OwnCertificate,
): Serving {
  const { client, logger, random } = parts;
  const place = { namespace: agentNamespace, name: CERTIFICATES_NAME };
  const key = `${replica}${KEY_END}`;
  let own: ServingPair = { certificate: "", key: "" };
  /** False where another client has changed the ConfigMap meanwhile. */
  const publish = async (seen: ConfigMap | undefined, data: Texts, signal: AbortSignal): Promise<boolean> => {
    if (isDeepStrictEqual(data, seen?.data)) return true;
    const creator = `${FIELD_MANAGER}-${random.id()}`;
    const write = { place, seen, data, labels: LABELS, fieldManager: FIELD_MANAGER, creator };
    const outcome = await writeConfigMap(client, write, signal);
    if (outcome.kind === "refused") throw new MooringError("api-rejected", outcome.message);
    if (outcome.kind === "applied") logger.info({ certificates: Object.keys(data).length }, "certificate published");
    return outcome.kind === "applied";
  };
  const next = async (signal: AbortSignal, served: ServingPair | undefined): Promise<ServingPair> => {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const seen = await readConfigMap(client, place, signal);
      // Only after an answer the API server's clock is known.
      const nowMs = parts.nowMs();
      if (isDue(own.certificate, nowMs)) own = makeSelfSigned({ nowMs, lifetimeMs: LIFETIME_MS }, names);
      // Until the new one is served, agents have to trust the one before, too.
      const mine = new Set([own.certificate, served?.certificate ?? ""]);
      const { [key]: _, ...others } = seen?.data ?? {};
      if (await publish(seen, { ...kept(others, nowMs), [key]: [...mine].join("") }, signal)) return own;
    }
    throw new MooringError("certificate-invalid", "what is published changes again and again");
  };
  const warn = (err: string): void => logger.warn({ err }, "certificate cannot be published");
  return createServing(parts, { next, everyMs: 60_000, retry: { firstMs: 500, maxMs: 10_000 }, warn });
}

/** Whether there is none or it has to be made anew. It is not valid yet where the clock was wrong when it was made. */
export function isDue(certificate: string, nowMs: number): boolean {
  const { notBeforeMs = 0, notAfterMs = 0 } = readCertificate(certificate) ?? {};
  return nowMs < notBeforeMs || nowMs >= notAfterMs - RENEWED_BEFORE_MS;
}

/** The other entries that stay: those that can be read and have not expired, of too many the newest. */
function kept(others: Texts, nowMs: number): Texts {
  const valid = Object.entries(others).flatMap(([key, text]) => {
    const { notBeforeMs = 0, notAfterMs = 0 } = readCertificate(text) ?? {};
    return key.endsWith(KEY_END) && nowMs < notAfterMs ? [{ key, text, notBeforeMs }] : [];
  });
  const newest = valid.toSorted((one, other) => other.notBeforeMs - one.notBeforeMs).slice(0, MOST_ENTRIES - 1);
  return Object.fromEntries(newest.map(({ key, text }) => [key, text]));
}
