import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listen } from "../../../../common/runtime/http-server.ts";
import { createLogger, type LevelControl } from "../../../../common/runtime/logger.ts";
import { createMetrics, type Metrics } from "../../../../common/runtime/metrics.ts";
import { createSystemRandom } from "../../../../common/runtime/random.ts";
import { readKeeperCommand } from "../../../../provisioner/keeper/config.ts";
import { runKeeper } from "../../../../provisioner/keeper/keeper-process.ts";
import { createKeeperClient, type KeeperClient } from "../../../../provisioner/sinks/keeper-client.ts";
import { createFakeClock, eventually } from "../../../fakes/clock.ts";

/** A keeper with a pool in a temporary folder, and no loop devices. */
export interface StartedKeeper {
  readonly client: KeeperClient;
  readonly metrics: Metrics;
  readonly logger: LevelControl;
  readonly pool: string;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** Base of its health endpoints. */
  readonly url: string;
}

const stops: (() => Promise<void>)[] = [];
const noLoops = (): never => {
  throw new Error("there are no loop devices");
};

/** Stops every keeper of a test. */
export async function stopKeepers(): Promise<void> {
  for (const stop of stops.splice(0)) await stop();
}

export async function startKeeper(): Promise<StartedKeeper> {
  const folder = mkdtempSync(join(tmpdir(), "mooring-keeper-"));
  const [pool, socket] = [join(folder, "pool"), join(folder, "keeper.sock")];
  mkdirSync(pool);
  const argv = ["--pool", `default=${pool}`, "--socket", socket, "--metrics-bind-address", "127.0.0.1:0"];
  const command = readKeeperCommand({ argv, env: {} });
  if (command.kind !== "run") throw new Error("these flags are no configuration");
  const [clock, metrics] = [createFakeClock(), createMetrics()];
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger("info", {}, { write: (line) => void lines.push(JSON.parse(line)) });
  const kernel = { ioctl: noLoops, allocate: noLoops };
  const stopping = new AbortController();
  const ports = { clock, random: createSystemRandom(), logger, logLevel: logger, metrics, listen, kernel };
  const running = runKeeper(command.config, ports, stopping.signal);
  stops.push(async () => {
    stopping.abort();
    await running;
    rmSync(folder, { recursive: true });
  });
  const started = () => lines.find(({ msg }) => msg === "keeper started");
  await eventually(() => started() !== undefined);
  const client = createKeeperClient({ clock }, { socket, deadlineMs: 60_000 });
  return { client, metrics, logger, pool, lines, url: String(started()?.health) };
}
