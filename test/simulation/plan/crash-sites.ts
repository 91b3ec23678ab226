/** Network calls: a process may die before the call, while it is on its way, and before it gets the answer. */
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
  "patch leases",
  "patch persistentvolumeclaims/status",
  "patch pods",
  "put report",
  "watch nodes",
  "watch persistentvolumeclaims",
  "watch persistentvolumes",
  "watch pods",
  "watch storageclasses",
] as const;

/** Sites that only the begin of a world visits, with rare exceptions. */
export const FIRST_SITES: readonly string[] = ["before", "sent", "after"].map((phase) => `create leases/${phase}`);

/** The sites at which processes die, as `site/phase`: each call of a port, in each phase. */
export const CRASH_SITES: readonly string[] = [
  ...CALLS.flatMap((call) => ["before", "sent", "after"].map((phase) => `${call}/${phase}`)),
  ...["load journal", "store journal", "close journal", "read mount table", "report received"].flatMap((call) => [
    `${call}/before`,
    `${call}/after`,
  ]),
  "listen/before",
  "timer/after",
];
