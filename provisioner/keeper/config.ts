import { LOG_LEVELS, type LogLevel } from "../../common/runtime/logger.ts";
import {
  type Address,
  addressSetting,
  choiceSetting,
  countSetting,
  describeSettings,
  loopbackOnly,
  optionalText,
  readSettings,
  type Setting,
  type SettingsInput,
  textSetting,
} from "../../common/runtime/settings.ts";
import { LINK_FOLDER } from "../protocol.ts";
import type { KeeperSettings } from "./keeper.ts";
import type { PoolPlace } from "./pool-folder.ts";

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

/** Every setting of the keeper, with its default. */
export const KEEPER_SETTINGS = {
  pools: poolsSetting({
    name: "pool",
    description: "pools of this node as `name=/path`, separated by commas; each path is the same on the node",
  }),
  reservePercent: countSetting(
    {
      name: "reserve",
      description: "percent of a filesystem that stays free where the pool is not the mount point of all of it",
    },
    { min: 0, max: 95 },
    "20",
  ),
  socket: textSetting({ name: "socket", description: "Unix socket of the keeper" }, "/run/keeper/keeper.sock"),
  socketGroup: groupSetting({
    name: "socket-group",
    description: "ID of the group that may connect beside root; default: the group that the keeper runs as",
  }),
  mountInfo: textSetting({ name: "mountinfo", description: "the node's mount table" }, "/proc/1/mountinfo"),
  podUid: optionalText({
    name: "pod-uid",
    description: "UID of the keeper's own pod, whose token mount proves the mount table; without it nothing is proved",
  }),
  metricsAddress: addressSetting(
    { name: "metrics-bind-address", description: "loopback address of health, metrics and /debug/log-level" },
    "127.0.0.1:9811",
  ),
  logLevel: choiceSetting({ name: "log-level", description: "minimum log level" }, LOG_LEVELS, "info"),
} as const;

export interface KeeperConfig extends KeeperSettings {
  readonly socket: string;
  readonly socketGroup: number | undefined;
  readonly mountInfo: string;
  /** A loopback address: a root process must not be reachable from outside its pod. */
  readonly metricsAddress: Address;
  readonly logLevel: LogLevel;
}

export type KeeperCommand =
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "run"; readonly config: KeeperConfig };

/** Reads the whole configuration once. Throws `MooringError` "config-invalid" with every problem. */
export function readKeeperCommand(input: SettingsInput): KeeperCommand {
  const usage =
    "Usage: keeper [flags]\n\nKeeps volumes as image files on loop devices, for the provisioner of the same node.";
  if (input.argv.includes("--help")) return { kind: "help", text: `${usage}\n\n${describeSettings(KEEPER_SETTINGS)}` };
  const values = readSettings(KEEPER_SETTINGS, input, [
    ({ metricsAddress }) => loopbackOnly(KEEPER_SETTINGS.metricsAddress, metricsAddress),
  ]);
  return { kind: "run", config: Object.freeze({ ...values, links: LINK_FOLDER }) };
}

interface Description {
  readonly name: string;
  readonly description: string;
}

function poolsSetting({ name, description }: Description): Setting<readonly PoolPlace[]> {
  const parse = (text: string | undefined): readonly PoolPlace[] => {
    if (text === undefined || text === "") throw new Error("is missing: name at least one pool, as name=/path");
    const pools = text.split(",").map(parsePool);
    for (const key of ["name", "path"] as const) {
      const twice = pools.find((pool, at) => pools.findIndex((other) => other[key] === pool[key]) !== at);
      if (twice !== undefined) throw new Error(`has two pools with the ${key} ${twice[key]}`);
    }
    return pools;
  };
  return { name, description, fallback: undefined, isSwitch: false, parse };
}

function parsePool(text: string): PoolPlace {
  const at = text.indexOf("=");
  const [name, path] = [text.slice(0, at), text.slice(at + 1)];
  const parts = path.split("/").filter((part) => part !== "");
  if (at === -1 || !NAME.test(name))
    throw new Error(`has "${text}", must be name=/path with a name of up to 32 lower-case letters, digits and dashes`);
  if (!path.startsWith("/") || parts.length === 0 || parts.includes(".") || parts.includes(".."))
    throw new Error(`has the path "${path}", must be an absolute path without . and ..`);
  return { name, path: `/${parts.join("/")}` };
}

function groupSetting({ name, description }: Description): Setting<number | undefined> {
  const parse = (text: string | undefined): number | undefined => {
    if (text === undefined || text === "") return undefined;
    if (!/^\d{1,10}$/.test(text)) throw new Error(`is "${text}", must be the number of a group`);
    return Number(text);
  };
  return { name, description, fallback: undefined, isSwitch: false, parse };
}
