import * as v from "valibot";

/** The calls that the driver answers. */
export const CALLS = [
  "GetPluginInfo",
  "GetPluginCapabilities",
  "Probe",
  "NodeStageVolume",
  "NodeUnstageVolume",
  "NodePublishVolume",
  "NodeUnpublishVolume",
  "NodeGetInfo",
  "NodeGetCapabilities",
  "CreateVolume",
  "DeleteVolume",
  "ControllerGetCapabilities",
  "GetInfo",
  "NotifyRegistrationStatus",
] as const;
export type CallName = (typeof CALLS)[number];

/** Codes of gRPC that a call can be told to fail with. */
export const FAILURE_CODES = [
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

const effect = v.variant("kind", [
  /** Waits, for so many milliseconds or until the fault is taken back; a call that its caller gave up ends there. */
  v.object({ kind: v.literal("hang"), forMs: v.optional(v.pipe(v.number(), v.minValue(0))) }),
  v.object({ kind: v.literal("fail"), code: v.picklist(FAILURE_CODES) }),
  /** Answers success and does nothing: an unstage leaves the staging mount behind. */
  v.object({ kind: v.literal("pretend") }),
]);

const fault = v.pipe(
  v.object({
    /** Names it in the record. */
    id: v.string(),
    call: v.picklist(CALLS),
    /** The handle of the volume that it is about; every volume unless told. */
    volume: v.optional(v.string()),
    /** Before the work of the call is begun, or when it is done and only the answer is missing. */
    when: v.optional(v.picklist(["before", "after"]), "before"),
    effect,
  }),
  v.check(({ when, effect: { kind } }) => when === "before" || kind !== "pretend", "cannot pretend what is done"),
);

/** How a call misbehaves. */
export type Fault = Readonly<v.InferOutput<typeof fault>>;
/** The same as it is ordered. */
export type FaultOrder = Readonly<Omit<v.InferInput<typeof fault>, "id">>;

export const faultList = v.array(fault);

/** The faults that a call meets, in their order. */
export function faultsFor(
  faults: readonly Fault[],
  { call, volume }: { readonly call: CallName; readonly volume: string | undefined },
): readonly Fault[] {
  return faults.filter((one) => one.call === call && (one.volume === undefined || one.volume === volume));
}
