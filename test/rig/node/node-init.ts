/** Folders of the machine's root that a node has of its own, or not at all. */
const OWN_FOLDERS = ["boot", "dev", "lost+found", "media", "mnt", "proc", "run", "srv", "sys", "tmp", "var"] as const;

/** What the first process of a node is told. */
export interface NodeInit {
  readonly hostname: string;
  /** An empty folder that becomes the node's root. */
  readonly root: string;
  /** The node's disk: what is to outlive its restart. */
  readonly disk: string;
  /** A file with the node's boot ID. */
  readonly bootId: string;
  /** Folders of the machine that programs of the harness need under the same path inside. */
  readonly shared: readonly string[];
  /** Kernel settings that the node's programs shall find; for the machine they do not change. */
  readonly sysctls: Readonly<Record<string, string>>;
}

/** Line that the first process prints with its id, as the harness sees it. */
export const PID_LINE = /^pid (\d+)$/;
/** Line that the first process prints when the node's file system is there. */
export const READY_LINE = "ready";

/**
 * What kubelet writes into `/proc/sys` when it finds other values (setupKernelTunables). Those are the machine's, not the
 * namespace's, so the node gets files with the values that satisfy it.
 */
export const KUBELET_SYSCTLS = {
  "vm/overcommit_memory": "1",
  "vm/panic_on_oom": "0",
  "kernel/panic": "10",
  "kernel/panic_on_oops": "1",
  "kernel/keys/root_maxkeys": "1000000",
  "kernel/keys/root_maxbytes": "25000000",
} as const;

/**
 * The shell script of a node's first process, run in fresh pid, mount, network, uts and ipc namespaces. It makes a root of
 * the node's own: the machine's programs read-only, an own `/proc`, `/sys`, `/run`, `/tmp` and `/var`, and nothing else of
 * the machine's mount table. Then it waits for the processes that lose their parents, as an init does.
 */
export function nodeInitScript(init: NodeInit): string {
  return [
    "set -eu",
    // This is still the machine's /proc, so the id is the one that the harness knows.
    "read -r pid _ < /proc/self/stat",
    "echo pid $pid",
    "mount --make-rprivate /",
    ...newRoot(init.root),
    ...ownFolders(init),
    ...ownKernelFiles(init),
    "pivot_root . old",
    "cd /",
    "umount --lazy old",
    "rmdir old",
    // As on a machine that systemd booted; each mount gets a peer group of its own here, so nothing shows up twice.
    "mount --make-rshared /",
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
    // A packet for a pod that is gone leaves by the link it came by. A redirect would have the machine believe, for minutes and beyond
    // the end of this cluster, that another way leads to that address.
    "for link in all default; do echo 0 > /proc/sys/net/ipv4/conf/$link/send_redirects; done",
    `hostname ${quote(init.hostname)}`,
    `echo ${READY_LINE}`,
    // Begun anew, so that a list of processes does not show all of the above.
    "exec sh -c 'while :; do sleep 86400 & wait; done'",
  ].join("\n");
}

/** A root in memory with the machine's programs, and the shell in it. */
function newRoot(root: string): readonly string[] {
  return [
    `mount -t tmpfs -o mode=755 node ${quote(root)}`,
    // Else a folder that holds the root would take the root along into itself.
    `mount --make-unbindable ${quote(root)}`,
    `cd ${quote(root)}`,
    "mkdir proc sys dev run tmp var mnt old",
    "chmod 1777 tmp",
    "for entry in /*; do",
    '  name=$(basename "$entry")',
    `  case "$name" in ${OWN_FOLDERS.join("|")}) continue ;; esac`,
    '  if [ -L "$entry" ]; then ln -s "$(readlink "$entry")" "$name"',
    '  elif [ -d "$entry" ]; then mkdir "$name"; mount --rbind "$entry" "$name"; mount -o remount,bind,ro "$name"',
    "  fi",
    "done",
  ];
}

function ownFolders({ disk, shared }: NodeInit): readonly string[] {
  return [
    "mount -t proc proc proc",
    "mount -t sysfs sysfs sys",
    "mount --rbind /sys/fs/cgroup sys/fs/cgroup",
    "mount --rbind /dev dev",
    "mount -t tmpfs -o mode=755 run run",
    `mount --bind ${quote(disk)} var`,
    "mkdir -p var/lib var/log var/tmp",
    "ln -sfn /run var/run",
    ...shared
      .filter(isHidden)
      .flatMap((folder) => [`mkdir -p .${quote(folder)}`, `mount --bind ${quote(folder)} .${quote(folder)}`]),
  ];
}

function ownKernelFiles({ bootId, sysctls }: NodeInit): readonly string[] {
  return [
    `mount --bind ${quote(bootId)} proc/sys/kernel/random/boot_id`,
    "mkdir run/sysctl",
    ...Object.entries(sysctls).flatMap(([name, value], index) => [
      `echo ${quote(value)} > run/sysctl/${index}`,
      `if [ -e proc/sys/${name} ]; then mount --bind run/sysctl/${index} proc/sys/${name}; fi`,
    ]),
  ];
}

/** Whether a node does not see a folder of the machine anyway. */
function isHidden(folder: string): boolean {
  return OWN_FOLDERS.some((own) => folder.startsWith(`/${own}/`));
}

/** A text as one word of a shell's line. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
