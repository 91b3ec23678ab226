import type { KubeClient } from "../../common/kube/client.ts";
import { readConfigMap } from "../../common/kube/config-map.ts";
import type { RotatingFile } from "../../common/kube/rotating-file.ts";
import { readCertificates } from "../../common/runtime/certificates.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { withDeadline } from "../../common/runtime/deadline.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import { CERTIFICATES_NAME } from "../../common/storage/published-certificates.ts";

/** A read takes this long at most, and its result serves all connections that need one within this time. Milliseconds. */
const READING_MS = 5_000;

/**
 * What the aggregator's replicas publish for agents to trust, PEM. It is read when it is needed first, and anew when a server's
 * certificate is not among it.
 */
export function createPublishedCertificates(
  { client, clock }: { readonly client: KubeClient; readonly clock: Clock },
  namespace: string,
): RotatingFile {
  const never = new AbortController().signal;
  const place = { namespace, name: CERTIFICATES_NAME };
  let known = "";
  let last: { readonly beganMs: number; readonly reading: Promise<string> } | undefined;

  const get = async (): Promise<string> => {
    const read = await withDeadline({ clock, signal: never }, READING_MS, (limited) =>
      readConfigMap(client, place, limited),
    );
    // One that cannot be read would hide the others from OpenSSL.
    const certificates = Object.values(read?.data ?? {}).flatMap(readCertificates);
    known = certificates.map(({ pem }) => pem).join("");
    // An empty list would mean to trust the system's CAs.
    if (known === "") throw new MooringError("certificate-invalid", "the aggregator has published no certificate yet");
    return known;
  };
  const readAnew = (): Promise<string> => {
    const nowMs = clock.monotonicMs();
    if (last === undefined || nowMs - last.beganMs >= READING_MS) last = { beganMs: nowMs, reading: get() };
    return last.reading;
  };
  return { read: async () => (known === "" ? await readAnew() : known), readAnew };
}
