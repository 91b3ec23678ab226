import { createHash } from "node:crypto";
import { type Entry, tar } from "./archive.ts";
import { json } from "./runtime-config.ts";

/** An image of one layer. */
export interface Image {
  /** Its name with a tag: `mooring.test/busybox:1`. */
  readonly name: string;
  /** The files of its layer. */
  readonly files: readonly Entry[];
  readonly command: readonly string[];
}

/** An archive as `docker save` writes it, which container runtimes import; `architecture` as Go names it. */
export function imageArchive(images: readonly Image[], architecture: string): Uint8Array {
  const parts = images.map((image) => partsOf(image, architecture));
  const manifest = parts.map(({ name, config, layer }) => ({
    Config: config.path,
    RepoTags: [name],
    Layers: [layer.path],
  }));
  const files = new Map(parts.flatMap(({ config, layer }) => [config, layer]).map((file) => [file.path, file]));
  return tar([...files.values(), { kind: "file", path: "manifest.json", content: Buffer.from(json(manifest)) }]);
}

interface Parts {
  readonly name: string;
  readonly config: Entry & { readonly kind: "file" };
  readonly layer: Entry & { readonly kind: "file" };
}

function partsOf({ name, files, command }: Image, architecture: string): Parts {
  const layer = tar(files);
  const config = Buffer.from(
    json({
      architecture,
      os: "linux",
      config: { Cmd: command, Env: ["PATH=/bin"] },
      rootfs: { type: "layers", diff_ids: [`sha256:${sha256(layer)}`] },
      history: [{ created_by: "test/rig/node/image.ts" }],
    }),
  );
  return {
    name,
    config: { kind: "file", path: `${sha256(config)}.json`, content: config },
    layer: { kind: "file", path: `${sha256(layer)}.tar`, content: layer },
  };
}

function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
