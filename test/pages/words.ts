/** How programs say that a command is wrong. */
export const WRONG = /error|usage:|not found|unknown|unbound|invalid|forbidden|no such|unrecognized/i;
