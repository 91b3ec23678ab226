// Runs one command so that no signal and no exit code is lost on the way. Plain enough for Node.js 18.
import { spawn } from "node:child_process";
import { constants } from "node:os";

/** What the person who starts the program can mend: shown without a stack. */
export class StartError extends Error {}

/**
 * Runs a command to its end and returns its exit code, or the shell's 128 + n when a signal ended it. SIGTERM and SIGHUP are
 * passed on, and its clean-up is waited for.
 */
export function run({ command, options = {}, onStart }) {
  let child;
  const passOn = (signal) => child.kill(signal);
  // Ctrl-C reaches the whole group, so the child has it already, and npm sends it to its own child once more. Passing it on
  // would be the second Ctrl-C, on which programs give up their clean-up.
  const listeners = { SIGINT: () => {}, SIGTERM: passOn, SIGHUP: passOn };
  // Before the child is there: on a busy machine it may be ready, and this process told to end, before the next line here.
  for (const [signal, listener] of Object.entries(listeners)) process.on(signal, listener);
  child = spawn(command[0], command.slice(1), { stdio: "inherit", ...options });
  if (child.pid !== undefined) onStart?.(child);
  return new Promise((resolve, reject) => {
    child.on("error", (error) => reject(new StartError(`cannot run ${command[0]}: ${error.message}`)));
    child.on("close", (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 1)));
  }).finally(() => {
    for (const [signal, listener] of Object.entries(listeners)) process.off(signal, listener);
  });
}
