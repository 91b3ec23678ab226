/** Calls that go over the network: a process may die before them, when they are on their way, and before it hears of the answer. */
const CALLS = [
  "apply persistentvolumeclaims/status",
  "create events",
  "create leases",
  "get /version",
  "get leases",
  "get namespaces",
  "list nodes",
  "list persistentvolumeclaims",
  "list persistentvolumes",
  "list pods",
  "list storageclasses",
  "list volumeattachments",
  "patch leases",
  "patch persistentvolumeclaims/status",
  "patch pods",
  "put report",
  "watch nodes",
  "watch persistentvolumeclaims",
  "watch persistentvolumes",
  "watch pods",
  "watch storageclasses",
  "watch volumeattachments",
] as const;

/** What is done at the begin of a world, and hardly ever again. */
export const FIRST_SITES: readonly string[] = ["before", "sent", "after"].map((phase) => `create leases/${phase}`);

/** Where processes are made to die, as `site/phase`: each call of a port, in each of its phases. */
export const CRASH_SITES: readonly string[] = [
  ...CALLS.flatMap((call) => ["before", "sent", "after"].map((phase) => `${call}/${phase}`)),
  ...["load journal", "store journal", "close journal", "read mount table", "report received"].flatMap((call) => [
    `${call}/before`,
    `${call}/after`,
  ]),
  "listen/before",
  "timer/after",
];
