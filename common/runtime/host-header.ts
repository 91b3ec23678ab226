import { isIP } from "node:net";

/**
 * Whether the `Host` of a request is localhost or an IP address. A page in a browser on this machine can point its own host name to a
 * loopback address and read the answers (DNS rebinding); such a request has that name as its `Host`.
 */
export function asksByAddress(host: string | undefined): boolean {
  const [, ipv6, name = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(host ?? "") ?? [];
  return ipv6 === undefined ? name.toLowerCase() === "localhost" || isIP(name) === 4 : isIP(ipv6) === 6;
}
