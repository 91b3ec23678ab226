import { isIP } from "node:net";

/**
 * Whether a request asks by localhost or by an IP address, as its `Host` says. A page in a browser on this machine can make a name of its
 * own lead to a loopback address, and read what is answered there (DNS rebinding); it then asks by that name.
 */
export function asksByAddress(host: string | undefined): boolean {
  const [, ipv6, name = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(host ?? "") ?? [];
  return ipv6 === undefined ? name.toLowerCase() === "localhost" || isIP(name) === 4 : isIP(ipv6) === 6;
}
