import { readFileSync } from "node:fs";
import * as v from "valibot";
import { codeOf } from "../process/errors.ts";

/** A moment on two clocks of the machine, in milliseconds: the wall clock and `CLOCK_MONOTONIC_RAW`. */
const stamp = v.object({ wallMs: v.number(), monotonicMs: v.number() });
export type Stamp = Readonly<v.InferOutput<typeof stamp>>;

/** Not before the one, not after the other. */
const span = { after: stamp, by: stamp };
export interface Span {
  readonly after: Stamp;
  readonly by: Stamp;
}

const place = { mountPoint: v.string(), root: v.string(), fsType: v.string(), device: v.string() };

const lifeEvent = v.variant("kind", [
  /** It was there when watching began. */
  v.object({ kind: v.literal("present"), mount: v.string(), ...place, ...span }),
  v.object({ kind: v.literal("attached"), mount: v.string(), ...place, ...span }),
  v.object({ kind: v.literal("detached"), mount: v.string(), ...place, ...span }),
  /** It came and went before anybody could look where it was. */
  v.object({ kind: v.literal("missed"), mount: v.string(), ...span }),
]);
const line = v.variant("kind", [
  ...lifeEvent.options,
  /** From here on nothing is missed. */
  v.object({ kind: v.literal("watching"), at: stamp }),
  /** The namespace ended, and with it all mounts that were left. */
  v.object({ kind: v.literal("gone"), at: stamp }),
  v.object({ kind: v.literal("stopped"), at: stamp }),
]);

export type LifeEvent = Readonly<v.InferOutput<typeof lifeEvent>>;
export type OracleLine = Readonly<v.InferOutput<typeof line>>;

/** All lines of a record. The last one may be half written: it is left out. */
export function readOracle(file: string): readonly OracleLine[] {
  const text = readText(file);
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((one) => one !== "")
    .map((one) => v.parse(line, JSON.parse(one)));
}

/** The unmounts at a mount point, in their order. */
export function detachmentsAt(lines: readonly OracleLine[], mountPoint: string): readonly Span[] {
  return lines.flatMap((one) =>
    one.kind === "detached" && one.mountPoint === mountPoint ? [{ after: one.after, by: one.by }] : [],
  );
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    // Nothing has happened yet.
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
}
