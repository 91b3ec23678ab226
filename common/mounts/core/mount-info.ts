/**
 * A line of `/proc/<pid>/mountinfo`:
 *
 *     36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
 *     (1)(2)(3)   (4)   (5)      (6)      (7)   (8) (9)   (10)         (11)
 *
 * (1) mount ID, (2) parent's, (3) major:minor, (4) root, (5) mount point, (6) options, (7) optional fields, (8) separator,
 * (9) type, (10) source, (11) super options. Paths are bytes: they are kept as latin1 strings, one character a byte.
 * Source: proc_pid_mountinfo(5). Options are never kept, they can hold secrets.
 */
export interface MountEntry {
  readonly mountId: number;
  readonly parentId: number;
  readonly device: string;
  readonly root: string;
  readonly mountPoint: string;
  readonly fsType: string;
}

/** The text of a mount table (latin1), and when its read started and ended, in milliseconds of the boot clock. */
export interface MountInfoText {
  readonly text: string;
  readonly beganAt: number;
  readonly endedAt: number;
}

/** The entries below one folder, and whether an unreadable line could have been one of them. */
export interface MountTable {
  readonly entries: readonly MountEntry[];
  /** Unreadable lines that could hide an entry below the folder. */
  readonly damagedLines: number;
}

/**
 * Parses the text of a mount table (latin1). Keeps the entries below `path`, except those whose path below it starts with a match of
 * `skipped` (a sticky expression). Never throws.
 */
export function parseMountInfo(text: string, path: string, skipped?: RegExp): MountTable {
  const plain = path.endsWith("/") ? path : `${path}/`;
  const folder = { plain, escaped: escapePath(plain), skipped };
  const entries: MountEntry[] = [];
  let damagedLines = 0;
  let begin = 0;
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", begin)) {
    const result = isNotOurs(text, { begin, end }, folder) ? "elsewhere" : parseLine(text.slice(begin, end), folder);
    if (result === "damaged") damagedLines += 1;
    else if (result !== "elsewhere") entries.push(result);
    begin = end + 1;
  }
  // The kernel terminates each line, so an unterminated last line was cut. No mount namespace is empty.
  const isTorn = begin < text.length || text === "";
  return { entries, damagedLines: damagedLines + (isTorn ? 1 : 0) };
}

/** A folder with a trailing slash: as raw bytes, and as a present kernel escapes it. */
interface Folder {
  readonly plain: string;
  readonly escaped: string;
  readonly skipped: RegExp | undefined;
}

/**
 * True for the thousands of lines that are certainly not wanted, without copying any part of the text: the line is whole up to the
 * separator, and its mount point is unescaped and either elsewhere or skipped. `parseLine` decides in any other case.
 */
function isNotOurs(text: string, line: { readonly begin: number; readonly end: number }, folder: Folder): boolean {
  let at = line.begin;
  for (let field = 0; field < 4; field += 1) {
    if (field < 3 && !isDigit(text.charCodeAt(at))) return false;
    at = text.indexOf(" ", at) + 1;
    if (at === 0 || at >= line.end) return false;
  }
  const mountPointEnd = text.indexOf(" ", at);
  const separator = text.indexOf(" - ", at);
  if (text[at] !== "/" || mountPointEnd === -1 || separator === -1 || separator >= line.end) return false;
  if (text.startsWith(folder.escaped, at)) return isSkipped(text, at + folder.escaped.length, folder);
  const backslash = text.indexOf("\\", at);
  return backslash === -1 || backslash > mountPointEnd;
}

function isSkipped(text: string, at: number, { skipped }: Folder): boolean {
  if (skipped === undefined) return false;
  skipped.lastIndex = at;
  return skipped.test(text);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** IDs, device and root of any mount, up to the mount point. A name may contain bytes that Unicode calls white space. */
const HEAD = /^(\d+) (\d+) (\d+:\d+) ([^ ]*) (?=\/)/;

/** Separator, type, source and super options: a line that has them was not cut. */
const TAIL = / - [^ ]+ [^ ]* [^ ]/;

function parseLine(line: string, folder: Folder): MountEntry | "elsewhere" | "damaged" {
  const head = HEAD.exec(line);
  // An unreadable line elsewhere must not make the node unobserved: only a cut line, or one that names the folder, can hide an entry.
  if (head === null) return TAIL.test(line) && !names(line, folder) ? "elsewhere" : "damaged";
  const [{ length }, mountId, parentId, device = "", root = ""] = head;
  // Most of a node's thousands of lines are for other mounts: check the mount point before the line is split or decoded.
  if (!isBelow(line, length, folder)) return couldBeCut(line.slice(length), folder) ? "damaged" : "elsewhere";
  const fields = line.slice(length).split(" ");
  const separator = fields.indexOf("-", 2);
  const fsType = fields[separator + 1];
  const mountPoint = fields[0];
  if (separator === -1 || !fsType || mountPoint === undefined || fields.length < separator + 4) return "damaged";
  return {
    mountId: Number(mountId),
    parentId: Number(parentId),
    device,
    root: unescapePath(root),
    mountPoint: unescapePath(mountPoint),
    fsType,
  };
}

function names(line: string, { plain, escaped }: Folder): boolean {
  return line.includes(escaped) || (line.includes("\\") && unescapePath(line).includes(plain));
}

/** Whether the mount point that starts at `at` is below the folder, also if a newer kernel escapes more characters. */
function isBelow(line: string, at: number, { plain, escaped }: Folder): boolean {
  if (line.startsWith(escaped, at)) return true;
  if (!line.includes("\\", at)) return false;
  const [mountPoint = ""] = line.slice(at).split(" ", 1);
  return unescapePath(mountPoint).startsWith(plain);
}

/** Whether a line that was cut within its mount point, perhaps within an escape, may be for a mount below the folder. */
function couldBeCut(mountPoint: string, { plain }: Folder): boolean {
  return plain.startsWith(unescapePath(mountPoint.replace(/\\[0-7]{0,2}$/, "")));
}

/**
 * The kubelet's root, derived from the agent's own mount: the projected token of the pod with this UID is mounted below
 * `<root>/pods/<uid>/volumes/kubernetes.io~projected/`. Empty when the table does not show that mount: then this is not the kubelet's mount
 * table, and an absence in it proves nothing. Several when folders above the root are mounted twice.
 */
export function findKubeletRoots(text: string, podUid: string): readonly string[] {
  const own = `/pods/${podUid}/volumes/kubernetes.io~projected/`;
  const roots = new Set<string>();
  for (let at = text.indexOf(own); at !== -1; at = text.indexOf(own, at + 1)) {
    const begin = text.lastIndexOf("\n", at) + 1;
    // One character more, so that the start of the mount point is found when the root is `/`.
    const head = HEAD.exec(text.slice(begin, at + 1));
    const root = text.slice(begin + (head?.[0].length ?? 0), at);
    if (head !== null && !root.includes(" ")) roots.add(unescapePath(root) || "/");
  }
  return [...roots];
}

/** The kernel writes space, tab, newline, backslash (and newer kernels `#`) as a backslash and three octal digits (seq_path). */
function unescapePath(path: string): string {
  if (!path.includes("\\")) return path;
  return path.replace(/\\([0-3][0-7]{2})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

function escapePath(path: string): string {
  return path.replace(/[ \t\n\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

/** Bytes kept as latin1, decoded as the text that they most likely are. */
export function displayPath(path: string): string {
  return new TextDecoder().decode(Uint8Array.from(path, (char) => char.charCodeAt(0)));
}

/**
 * Whether a scan may lack entries although no line is damaged: before Linux 5.8 it did when mounts changed between two of its `read(2)`
 * calls (torvalds/linux 9f6c61f96f2d). A release that cannot be parsed counts as such a kernel.
 */
export function needsAgreement(kernelRelease: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(kernelRelease) ?? [];
  if (major === undefined || minor === undefined) return true;
  return Number(major) < 5 || (Number(major) === 5 && Number(minor) < 8);
}
