/** The rights of this process on its node. */
export interface Rights {
  readonly user: number;
  /** `CapEff` of `/proc/self/status`. */
  readonly capabilities: bigint;
  /** Why `/dev/loop-control` cannot be opened: the code of the system call; undefined where it can. */
  readonly loopControl: string | undefined;
}

/** `<linux/capability.h>` */
const CAP_SYS_ADMIN = 1n << 21n;
/** The file does not exist, or no driver is behind it. */
const NOT_THERE = ["ENOENT", "ENODEV", "ENXIO"];

/** The effective capabilities in the text of `/proc/self/status`; none where it does not contain them. */
export function capabilitiesIn(status: string): bigint {
  const [, digits] = /^CapEff:\t([0-9a-f]{1,16})$/m.exec(status) ?? [];
  return digits === undefined ? 0n : BigInt(`0x${digits}`);
}

/** The rights that a keeper lacks, and how to grant them; undefined where it has all it needs. */
export function whatIsMissing({ user, capabilities, loopControl }: Rights): readonly string[] {
  if (user !== 0)
    return [`it runs as user ${user}, and images and loop devices are root's: set runAsUser: 0 for the container`];
  const missing: string[] = [];
  if ((capabilities & CAP_SYS_ADMIN) === 0n)
    missing.push("it has no CAP_SYS_ADMIN, without which no volume can grow: set privileged: true for the container");
  if (loopControl !== undefined) missing.push(loopProblem(loopControl));
  return missing;
}

function loopProblem(code: string): string {
  const what = `/dev/loop-control cannot be opened (${code})`;
  if (NOT_THERE.includes(code))
    return `${what}: mount the node's /dev at /dev, and load the kernel's module loop on the node (modprobe loop)`;
  return `${what}: set privileged: true for the container`;
}
