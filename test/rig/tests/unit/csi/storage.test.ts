import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { RecordEvent } from "../../../csi/record.ts";
import { createStorage } from "../../../csi/storage.ts";
import { contentFolder } from "../../../csi/volumes.ts";

const FILESYSTEM = { name: "pvc-1", capacity_range: { required_bytes: 1024 }, volume_capabilities: ["mount"] } as const;

function scene() {
  const folder = mkdtempSync(join(tmpdir(), "scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const events: RecordEvent[] = [];
  const storage = createStorage((event) => events.push(event), folder);
  return { storage, events, content: contentFolder(folder, "pvc-1") };
}

describe("the storage of the driver", () => {
  it("makes a volume, and answers the same one, with what it contains, when it is asked again", () => {
    const { storage, content, events } = scene();

    const first = storage.create({ ...FILESYSTEM, volume_capabilities: ["mount"] });
    writeFileSync(join(content, "file"), "kept");
    const second = storage.create({ ...FILESYSTEM, capacity_range: null, volume_capabilities: [] });

    expect(first).toEqual({ volume_id: "pvc-1", capacity_bytes: 1024, volume_context: { provisioned: "true" } });
    expect(second).toMatchObject({ volume_id: "pvc-1" });
    expect(readFileSync(join(content, "file"), "utf8")).toBe("kept");
    expect(events).toEqual([]);
  });

  it("refuses a block volume, which it could not delete while it is in use", () => {
    const { storage, content } = scene();

    expect(() => storage.create({ ...FILESYSTEM, volume_capabilities: ["mount", "block"] })).toThrow(/filesystem/);
    expect(existsSync(content)).toBe(false);
  });

  it("destroys what a volume contains, and records when", () => {
    const { storage, content, events } = scene();
    storage.create({ ...FILESYSTEM, volume_capabilities: ["mount"] });
    mkdirSync(join(content, "folder"));
    writeFileSync(join(content, "folder", "file"), "lost");

    storage.destroy("pvc-1");

    expect(existsSync(content)).toBe(false);
    expect(events).toEqual([
      { kind: "destruction-began", volume: "pvc-1" },
      { kind: "destruction-ended", volume: "pvc-1" },
    ]);
  });

  it("takes the deletion of a volume that is not there for done", () => {
    const { storage, events } = scene();

    storage.destroy("pvc-1");

    expect(events).toEqual([]);
  });
});
