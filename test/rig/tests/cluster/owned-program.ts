// A program under test: it starts a child, tells what there is, and then ends in the way that its argument names.
import { HarnessError } from "../../process/errors.ts";
import type { Owner } from "../../process/owner.ts";
import { runOwned } from "../../process/run-owned.ts";

const [ending, parent] = process.argv.slice(2);

async function end({ clock, signal }: Owner): Promise<void> {
  switch (ending) {
    case "fail":
      throw new HarnessError("this machine has no such thing");
    case "break":
      throw new Error("a bug");
    case "crash":
      queueMicrotask(() => {
        throw new Error("thrown where nobody catches it");
      });
      break;
    case "reject":
      void Promise.reject(new Error("rejected where nobody catches it"));
      break;
    case "exit":
      process.exit(7);
      break;
    case "return":
      return;
  }
  await clock.sleep(60_000, signal);
}

await runOwned(
  async (owner) => {
    owner.defer(async () => {
      process.stdout.write("undoing\n");
      // Long enough for a second signal to arrive in the middle.
      await owner.clock.sleep(ending === "stay" ? 300 : 0);
      process.stdout.write("undone\n");
    });
    const child = owner.child({ name: "sleeper", command: "sleep", args: ["60"] });
    await child.start();
    process.stdout.write(`${JSON.stringify({ folder: owner.folder, child: child.pid })}\n`);
    await end(owner);
  },
  parent === undefined ? {} : { parent },
);
