// A keeper that answers one request, and is killed by SIGKILL before its nth change of the node. The changes are the real ones.
import { createMountInfoFile } from "../../../common/mounts/mount-info-file.ts";
import { createSystemClock } from "../../../common/runtime/clock.ts";
import { InternalErrors } from "../../../common/runtime/internal-errors.ts";
import { createLogger } from "../../../common/runtime/logger.ts";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import { createKeeper } from "../../../provisioner/keeper/keeper.ts";
import { openKernel } from "../../../provisioner/keeper/kernel.ts";
import { createNodeActions, type NodeActions } from "../../../provisioner/keeper/node-actions.ts";
import { NODE_FILES } from "../../../provisioner/keeper/node-files.ts";
import { decodeRequest, LINK_FOLDER } from "../../../provisioner/protocol.ts";

const [step = "", path = "", mountInfo = "", line = ""] = process.argv.slice(2);
let steps = 0;

function dyingBefore<Args extends readonly unknown[], T>(
  work: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return async (...args) => {
    if (steps === Number(step)) {
      process.stderr.write("died on purpose\n");
      process.kill(process.pid, "SIGKILL");
    }
    steps += 1;
    return await work(...args);
  };
}

function dying(actions: NodeActions): NodeActions {
  return {
    createFile: dyingBefore(actions.createFile),
    writeFile: dyingBefore(actions.writeFile),
    allocate: dyingBefore(actions.allocate),
    truncate: dyingBefore(actions.truncate),
    sync: dyingBefore(actions.sync),
    rename: dyingBefore(actions.rename),
    unlink: dyingBefore(actions.unlink),
    symlink: dyingBefore(actions.symlink),
    makeFolder: dyingBefore(actions.makeFolder),
    configureLoop: dyingBefore(actions.configureLoop),
    setLoopStatus: dyingBefore(actions.setLoopStatus),
    refreshLoopSize: dyingBefore(actions.refreshLoopSize),
    clearLoop: dyingBefore(actions.clearLoop),
    writeSetting: dyingBefore(actions.writeSetting),
  };
}

const logger = createLogger("silent");
const kernel = openKernel();
const keeper = createKeeper(
  {
    kernel,
    files: NODE_FILES,
    actions: dying(createNodeActions(kernel)),
    mountInfo: createMountInfoFile(mountInfo, { clock: createSystemClock() }),
    random: createSystemRandom(),
    logger,
    errors: new InternalErrors(logger).in("volumes"),
  },
  { pools: [{ name: "fast", path }], reservePercent: 20, links: LINK_FOLDER, podUid: undefined },
);
const request = decodeRequest(line);
if (request.verb === "invalid") throw new Error(request.message);
process.stdout.write(JSON.stringify(await keeper.answer(request)));
