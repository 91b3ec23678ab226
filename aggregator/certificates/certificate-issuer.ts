import type { KubeParts } from "../../common/kube/client.ts";
import { repeat } from "../../common/kube/repeat.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import { certificatePlan, type StoredCertificates } from "../core/certificate-plan.ts";
import { type CertificatePlaces, readCertificates } from "./certificate-store.ts";
import { issueAuthority, issueCertificate } from "./issuing.ts";
import { canonicalName } from "./pem.ts";

/** The names in the certificates, and how long they are valid. */
export interface IssuerConfig extends CertificatePlaces {
  /** Names and IP addresses under which agents reach the aggregator. */
  readonly names: readonly string[];
  /** How long a CA and a certificate are valid. Milliseconds. */
  readonly times: { readonly authorityMs: number; readonly certificateMs: number };
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
  const task = async (limited: AbortSignal): Promise<void> => {
    for (let step = 0; step < MOST_STEPS; step += 1) if (await isSettled(parts, config, limited)) return;
    throw new MooringError("certificate-invalid", "what is stored changes again and again");
  };
  const warn = (err: string): void => parts.logger.warn({ err }, "certificates cannot be kept");
  return repeat(parts, { task, everyMs: config.lookEveryMs, retry: RETRY, warn }, signal);
}

/** Takes the next step; true where none is left. */
async function isSettled(parts: IssuerParts, config: IssuerConfig, signal: AbortSignal): Promise<boolean> {
  const { logger, onStored } = parts;
  const { authorityMs, certificateMs } = config.times;
  const names = [...new Set(config.names.map(canonicalName))].toSorted();
  const shelf = await readCertificates(parts, config, signal);
  onStored(shelf.stored);
  const nowMs = parts.nowMs();
  const plan = certificatePlan(nowMs, shelf.stored, { names, authorityMs });
  switch (plan.kind) {
    case "keep":
      return true;
    case "add-authority": {
      const { kept, lifetimeMs } = plan;
      await shelf.addAuthority(await issueAuthority({ nowMs, lifetimeMs }), kept);
      logger.info({ lifetimeMs }, "certificate authority made");
      return false;
    }
    case "publish":
      await shelf.publish(plan.trusted);
      logger.info({ authorities: plan.trusted.length }, "agents told which authorities to trust");
      return false;
    case "issue-certificate": {
      const signer = shelf.signer(plan.authority);
      if (signer === undefined) throw new MooringError("certificate-invalid", "the authority cannot sign any more");
      await shelf.serve(await issueCertificate({ nowMs, lifetimeMs: certificateMs }, names, signer));
      logger.info({ names, lifetimeMs: certificateMs }, "certificate issued");
      return false;
    }
  }
}
