import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CallError } from "./call-error.ts";
import type { RecordEvent } from "./record.ts";
import type { CreateRequest } from "./requests.ts";
import { contentFolder, fileNameOf, PROVISIONED } from "./volumes.ts";

/** Makes and deletes volumes in a folder. */
export interface Storage {
  /** What a provisioner is answered; done again for the same name, it is the same volume. */
  readonly create: (request: CreateRequest) => object;
  /** Deletes all that the volume contains, also while it is mounted. */
  readonly destroy: (handle: string) => void;
}

/** The storage system of the driver: filesystem volumes are folders. It asks nobody whether a node still uses one. */
export function createStorage(record: (event: RecordEvent) => void, folder: string): Storage {
  return {
    create: ({ name, capacity_range, volume_capabilities }) => {
      if (volume_capabilities.includes("block"))
        throw new CallError("INVALID_ARGUMENT", "only filesystem volumes are made");
      mkdirSync(contentFolder(folder, name), { recursive: true });
      const capacity = capacity_range?.required_bytes ?? 0;
      return { volume_id: name, capacity_bytes: capacity, volume_context: { [PROVISIONED]: "true" } };
    },
    destroy: (handle) => {
      const place = join(folder, fileNameOf(handle));
      if (!existsSync(place)) return;
      record({ kind: "destruction-began", volume: handle });
      // A container that writes on may make a file anew meanwhile.
      rmSync(place, { recursive: true, maxRetries: 10 });
      record({ kind: "destruction-ended", volume: handle });
    },
  };
}
