import type { KubeParts } from "../../common/kube/client.ts";
import { repeat } from "../../common/kube/repeat.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import {
  type CertificatePlan,
  type CertificateTimes,
  certificatePlan,
  type StoredCertificates,
} from "../core/certificate-plan.ts";
import { type CertificatePlaces, type CertificateShelf, readCertificates } from "./certificate-store.ts";
import { issueAuthority, issueCertificate } from "./issuing.ts";
import { canonicalName } from "./pem.ts";

/** The names in the certificates, and how long they are valid. */
export interface IssuerConfig extends CertificatePlaces {
  /** Names and IP addresses under which agents reach the aggregator. */
  readonly names: readonly string[];
  readonly times: CertificateTimes;
  /** After this time the issuer corrects what another client changed or deleted. Milliseconds. */
  readonly lookEveryMs: number;
}

/** `client` writes only while this process leads. */
interface IssuerParts extends KubeParts {
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Receives what is stored, each time it is read. */
  readonly onStored: (stored: StoredCertificates) => void;
}

export const LOOK_EVERY_MS = 60_000;

const RETRY = { firstMs: 500, maxMs: 60_000 } as const;
/** Five steps suffice from any stored state (aggregator/core/certificate-plan.ts); more means that another client interferes. */
const MOST_STEPS = 8;

/** Keeps certificates issued, published and renewed; only the leader runs it. Resolves when the signal is aborted. */
export function keepCertificates(parts: IssuerParts, config: IssuerConfig, signal: AbortSignal): Promise<void> {
  const task = (limited: AbortSignal): Promise<void> => settle(parts, config, limited);
  const warn = (err: string): void => parts.logger.warn({ err }, "certificates cannot be kept");
  return repeat(parts, { task, everyMs: config.lookEveryMs, retry: RETRY, warn }, signal);
}

async function settle(parts: IssuerParts, config: IssuerConfig, signal: AbortSignal): Promise<void> {
  const names = [...new Set(config.names.map(canonicalName))].toSorted();
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const shelf = await readCertificates(parts, config, signal);
    parts.onStored(shelf.stored);
    // Stored as whole milliseconds; rounded down, so that the next look is not earlier.
    const plan = certificatePlan(Math.floor(parts.nowMs()), shelf.stored, { times: config.times, names });
    if (plan.kind === "keep") return;
    await carryOut(plan, shelf, { parts, times: config.times, names });
  }
  throw new MooringError("certificate-invalid", "what is stored changes again and again");
}

interface Issuing {
  readonly parts: IssuerParts;
  readonly times: CertificateTimes;
  readonly names: readonly string[];
}

async function carryOut(
  plan: CertificatePlan,
  shelf: CertificateShelf,
  { parts: { logger, nowMs }, times, names }: Issuing,
): Promise<void> {
  switch (plan.kind) {
    case "keep":
      return;
    case "issue-authority":
      await shelf.addAuthority(await issueAuthority({ nowMs: nowMs(), lifetimeMs: times.authorityMs }));
      return logger.info({ lifetimeMs: times.authorityMs }, "certificate authority made");
    case "publish":
      await shelf.publish(plan);
      return logger.info({ authorities: plan.trusted.length }, "agents told which authorities to trust");
    case "issue-certificate": {
      const signer = shelf.signer(plan.authority);
      if (signer === undefined) throw new MooringError("certificate-invalid", "the authority cannot sign any more");
      const term = { nowMs: nowMs(), lifetimeMs: times.certificateMs };
      await shelf.serve(await issueCertificate(term, names, signer), plan.previous);
      return logger.info({ names, lifetimeMs: times.certificateMs }, "certificate issued");
    }
    case "drop-authorities":
      await shelf.keepAuthorities(plan.kept);
      return logger.info({ authorities: plan.kept.length }, "keys of authorities forgotten");
  }
}
