/** A version of the kubelet: major, minor and patch. */
export type KubeletVersion = readonly [major: number, minor: number, patch: number];

/** Reads `1.38`, `v1.38.2` and the variants of distributions (`v1.38.2+k3s1`, `v1.38.2-eks-abc`); undefined for anything else. */
export function parseKubeletVersion(text: string): KubeletVersion | undefined {
  const [, major, minor, patch = "0"] = /^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?(?:[-+].*)?$/s.exec(text) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

/**
 * Whether a kubelet rejects pods for their volumes' node affinity itself; undefined when its version cannot be read. A version before a
 * release (`1.38.0-alpha.1`) counts as that release: standing aside is the safe side. Its feature gates cannot be seen from outside.
 */
export function enforcesItself(kubelet: string, since: KubeletVersion): boolean | undefined {
  const version = parseKubeletVersion(kubelet);
  if (version === undefined) return undefined;
  const differing = version.findIndex((part, index) => part !== since[index]);
  return differing === -1 || (version[differing] ?? 0) > (since[differing] ?? 0);
}
