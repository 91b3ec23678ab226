import { isDeepStrictEqual } from "node:util";
import type { WriteOutcome } from "../../common/kube/apply.ts";
import type { KubeParts } from "../../common/kube/client.ts";
import { readConfigMap, type Texts, writeConfigMap } from "../../common/kube/config-map.ts";
import { repeat } from "../../common/kube/repeat.ts";
import { readCertificate } from "../../common/runtime/certificates.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import { degraded } from "../../common/runtime/health.ts";
import type { ServingPair } from "../../common/runtime/http-server.ts";
import { CERTIFICATES_NAME } from "../../common/storage/published-certificates.ts";
import { isDue, KEY_END, keptKeys } from "../core/published-certificates.ts";
import { makeSelfSigned } from "./self-signed.ts";
import { createShown, type Serving } from "./serving.ts";

/** Whose certificate it is, for which names, and where it is published. */
export interface OwnCertificate {
  /** Of all replicas this one alone has this name: its pod's. */
  readonly replica: string;
  /** Names and IP addresses under which agents reach the aggregator. */
  readonly names: readonly string[];
  readonly agentNamespace: string;
}

/** The ConfigMap is looked at so often. Milliseconds. */
const LOOK_EVERY_MS = 60_000;
const RETRY = { firstMs: 500, maxMs: 10_000 } as const;
/** Other replicas write the same object; after more conflicts in a row another client interferes. */
const MOST_TRIES = 5;
const LIFETIME_MS = 90 * 86_400_000;
const FIELD_MANAGER = "mooring-aggregator";
const LABELS = { "app.kubernetes.io/name": FIELD_MANAGER, "app.kubernetes.io/part-of": "mooring" };

/**
 * A certificate that this process makes, publishes to agents, and then serves. Its key is in memory alone. `nowMs` is the latest that the
 * API server's clock can show.
 */
export function createOwnServing(
  parts: KubeParts & { readonly nowMs: () => number },
  { replica, names, agentNamespace }: OwnCertificate,
): Serving {
  const { client, logger, random } = parts;
  const shown = createShown(logger);
  const place = { namespace: agentNamespace, name: CERTIFICATES_NAME };
  const key = `${replica}${KEY_END}`;
  let own: ServingPair | undefined;
  const publish = async (signal: AbortSignal): Promise<WriteOutcome["kind"]> => {
    const seen = await readConfigMap(client, place, signal);
    // Only after an answer the API server's clock is known.
    const nowMs = parts.nowMs();
    const made = own && readCertificate(own.certificate);
    if (own === undefined || made === undefined || isDue(made, nowMs))
      own = makeSelfSigned({ nowMs, lifetimeMs: LIFETIME_MS }, names);
    // Until the new one is served, agents have to trust the one before, too.
    const mine = new Set([own.certificate, shown.serving.pair()?.certificate ?? ""]);
    const data = { ...keptTexts(seen?.data ?? {}, key, nowMs), [key]: [...mine].join("") };
    if (!isDeepStrictEqual(data, seen?.data)) {
      const creator = `${FIELD_MANAGER}-${random.id()}`;
      const write = { place, seen, data, labels: LABELS, fieldManager: FIELD_MANAGER, creator };
      const outcome = await writeConfigMap(client, write, signal);
      if (outcome.kind === "conflict" || outcome.kind === "gone") return outcome.kind;
      if (outcome.kind === "refused") throw new MooringError("api-rejected", outcome.message);
      logger.info({ certificates: Object.keys(data).length }, "certificate published");
    }
    shown.show(own);
    return "applied";
  };
  const task = async (signal: AbortSignal): Promise<void> => {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) if ((await publish(signal)) === "applied") return;
    throw new MooringError("certificate-invalid", "what is published changes again and again");
  };
  const warn = (err: string): void => logger.warn({ err }, "certificate cannot be published");
  let problem: string | undefined;
  const onOutcome = (found: string | undefined): void => {
    problem = found;
  };
  return {
    ...shown.serving,
    check: (nowMs) => {
      const served = shown.serving.check(nowMs);
      const isUnpublished = served.ok && problem !== undefined;
      return isUnpublished ? degraded(`agents that start now may not know it: ${problem}`) : served;
    },
    run: (signal) => repeat(parts, { task, everyMs: LOOK_EVERY_MS, retry: RETRY, warn, onOutcome }, signal),
  };
}

/** What stays of the other entries: not those that cannot be read. */
function keptTexts(published: Texts, own: string, nowMs: number): Texts {
  const readable = Object.entries(published).flatMap(([key, text]) => {
    const read = readCertificate(text);
    return read === undefined ? [] : [{ ...read, key }];
  });
  return Object.fromEntries(keptKeys(readable, own, nowMs).map((key) => [key, published[key] ?? ""]));
}
