import * as v from "valibot";

const required = v.pipe(v.string(), v.minLength(1, "is missing"));
const path = v.pipe(required, v.startsWith("/", "is no absolute path"));
const attributes = v.record(v.string(), v.string());
const capability = v.pipe(
  v.object({ access_type: v.picklist(["mount", "block"], "is neither mount nor block") }),
  v.transform(({ access_type }) => access_type),
);

/** What is asked for a volume: a folder with files, or a block device. */
export type AccessType = v.InferOutput<typeof capability>;

/** Requests of the interface, with what this driver looks at. A message that lacks a required field does not decode. */
export const requests = {
  none: v.object({}),
  stage: v.object({
    volume_id: required,
    staging_target_path: path,
    volume_capability: capability,
    volume_context: attributes,
  }),
  unstage: v.object({ volume_id: required, staging_target_path: path }),
  publish: v.object({
    volume_id: required,
    /** Empty from a kubelet that found no staging to be done. */
    staging_target_path: v.union([v.literal(""), path]),
    target_path: path,
    volume_capability: capability,
    readonly: v.boolean(),
    volume_context: attributes,
  }),
  unpublish: v.object({ volume_id: required, target_path: path }),
  create: v.object({
    name: required,
    /** Nothing where any size will do. */
    capacity_range: v.nullish(v.object({ required_bytes: v.number() })),
    volume_capabilities: v.array(capability),
  }),
  destroy: v.object({ volume_id: required }),
  registration: v.object({ plugin_registered: v.boolean(), error: v.string() }),
} as const;

export type StageRequest = v.InferOutput<typeof requests.stage>;
export type UnstageRequest = v.InferOutput<typeof requests.unstage>;
export type PublishRequest = v.InferOutput<typeof requests.publish>;
export type UnpublishRequest = v.InferOutput<typeof requests.unpublish>;
export type CreateRequest = v.InferOutput<typeof requests.create>;
