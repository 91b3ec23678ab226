/** A change that no test can see, because the program does the same. Both lines as `npm run mutation` prints them. */
export interface Equivalent {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly why: string;
}

/** Survivors that were looked at. They count as survivors in the score; they only are not printed again. */
export const EQUIVALENTS: readonly Equivalent[] = [
  {
    file: "agent/core/coverage.ts",
    before: "if (all.length <= MAX_AGENT_GAPS || first === undefined || second === undefined) return all;",
    after: "if (all.length <= MAX_AGENT_GAPS || false || second === undefined) return all;",
    why: "more than sixteen have a first one; the type does not know that",
  },
  {
    file: "agent/core/observe.ts",
    before: "const wasSeen = known.pendingUnmount === undefined && known.seenAt >= from && known.seenAt < until;",
    after: "const wasSeen = known.pendingUnmount === undefined && known.seenAt >= from && known.seenAt <= until;",
    why: "what was seen just then is said to be seen just then",
  },
  {
    file: "agent/core/compact.ts",
    before: 'const namespace = pod?.split("/")[0] ?? "";',
    after: 'const namespace = pod?.split("/")[0] ?? "Stryker was here!";',
    why: "only compared with others: no namespace is called like that",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "for (let field = 0; field < 4; field += 1) {",
    after: "for (let field = 0; false; field += 1) {",
    why: "a fast path: without it the line takes the slow one, which answers the same",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "for (let field = 0; field < 4; field += 1) {",
    after: "for (let field = 0; field >= 4; field += 1) {",
    why: "a fast path: without it the line takes the slow one, which answers the same",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "for (let field = 0; field < 4; field += 1) {",
    after: "for (let field = 0; field < 4; field -= 1) {",
    why: "a fast path: without it the line takes the slow one, which answers the same",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "if (field < 3 && !isDigit(text.charCodeAt(at))) return false;",
    after: "if (true) return false;",
    why: "a fast path: without it the line takes the slow one, which answers the same",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "if (field < 3 && !isDigit(text.charCodeAt(at))) return false;",
    after: "if (field <= 3 && !isDigit(text.charCodeAt(at))) return false;",
    why: "a fast path: without it the line takes the slow one, which answers the same",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "if (field < 3 && !isDigit(text.charCodeAt(at))) return false;",
    after: "if (field < 3 && isDigit(text.charCodeAt(at))) return false;",
    why: "a fast path: without it the line takes the slow one, which answers the same",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "if (at === 0 || at >= line.end) return false;",
    after: "if (true) return false;",
    why: "a fast path: without it the line takes the slow one, which answers the same",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "return backslash === -1 || backslash > mountPointEnd;",
    after: "return backslash === -1 || false;",
    why: "a fast path: without it the line takes the slow one, which answers the same",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "return backslash === -1 || backslash > mountPointEnd;",
    after: "return backslash === -1 || backslash >= mountPointEnd;",
    why: "a space stands there, no backslash",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: 'if (!line.includes("\\\\", at)) return false;',
    after: "if (false) return false;",
    why: "a fast path: without it the line takes the slow one, which answers the same",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: 'if (!line.includes("\\\\", at)) return false;',
    after: 'if (!line.includes("", at)) return false;',
    why: "a fast path: without it the line takes the slow one, which answers the same",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: 'const [{ length }, mountId, parentId, device = "", root = ""] = head;',
    after: 'const [{ length }, mountId, parentId, device = "Stryker was here!", root = ""] = head;',
    why: "the regular expression matches with all of its groups, or not at all",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: 'const [{ length }, mountId, parentId, device = "", root = ""] = head;',
    after: 'const [{ length }, mountId, parentId, device = "", root = "Stryker was here!"] = head;',
    why: "the regular expression matches with all of its groups, or not at all",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: 'const [mountPoint = ""] = line.slice(at).split(" ", 1);',
    after: 'const [mountPoint = "Stryker was here!"] = line.slice(at).split(" ", 1);',
    why: "a text that is split has a first part",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "const [, major, minor] = /^(\\d+)\\.(\\d+)/.exec(kernelRelease) ?? [];",
    after: 'const [, major, minor] = /^(\\d+)\\.(\\d+)/.exec(kernelRelease) ?? ["Stryker was here"];',
    why: "the whole match is not looked at",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "if (major === undefined || minor === undefined) return true;",
    after: "if (major === undefined && minor === undefined) return true;",
    why: "the regular expression matches with all of its groups, or not at all",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "if (major === undefined || minor === undefined) return true;",
    after: "if (false || minor === undefined) return true;",
    why: "the regular expression matches with all of its groups, or not at all",
  },
  {
    file: "common/mounts/core/mount-info.ts",
    before: "if (major === undefined || minor === undefined) return true;",
    after: "if (major === undefined || false) return true;",
    why: "the regular expression matches with all of its groups, or not at all",
  },
  {
    file: "aggregator/core/nodes/fleet.ts",
    before: "if (scan.endedAt !== known.scan.endedAt) return scan.endedAt < known.scan.endedAt;",
    after: "if (scan.endedAt !== known.scan.endedAt) return scan.endedAt <= known.scan.endedAt;",
    why: "they are not equal there",
  },
  {
    file: "aggregator/core/claims/history.ts",
    before: "if (one.timeline !== other.timeline) return one.timeline > other.timeline;",
    after: "if (one.timeline !== other.timeline) return one.timeline >= other.timeline;",
    why: "they are not equal there",
  },
  {
    file: "agent/core/affinity/limits.ts",
    before: "const made = times.filter((atMs) => atMs >= startedAt).length;",
    after: "const made = times.filter((atMs) => atMs > startedAt).length;",
    why: "at the very moment at which a run begins it rejects nothing",
  },
  {
    file: "common/storage/label-syntax.ts",
    before: "const [, subdomain, name] = /^(?:([^/]+)\\/)?([^/]+)$/.exec(text) ?? [];",
    after: 'const [, subdomain, name] = /^(?:([^/]+)\\/)?([^/]+)$/.exec(text) ?? ["Stryker was here"];',
    why: "the first is the whole match, which nobody takes",
  },
  {
    file: "aggregator/core/nodes/node-view.ts",
    before: "if (isSameState(known, view)) return [];",
    after: "if (false) return [];",
    why: "a fast path: without it the same mounts and records are compared, and nothing differs",
  },
];
