/** A change that no test can see, because the program does the same. Both lines as `npm run mutation` prints them. */
export interface Equivalent {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly why: string;
}

/** Survivors that were looked at. They count as survivors in the score; they only are not printed again. */
export const EQUIVALENTS: readonly Equivalent[] = [];
