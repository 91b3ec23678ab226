/** Where processes are made to die, as `site/phase`: each call of a port, in each of its phases. */
export const CRASH_SITES: readonly string[] = [
  "put report/before",
  "put report/sent",
  "put report/after",
  "journal store/before",
  "journal store/after",
];
