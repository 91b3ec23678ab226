/** What happened to an object, for people who describe it. */
export interface KubeEvent {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    /** Empty for an object without one. */
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly type: "Normal" | "Warning";
  /** A constant word in CamelCase. */
  readonly reason: string;
  /** What was done or seen, a constant word in CamelCase. */
  readonly action: string;
  /** A sentence, at most 1,024 bytes; more is cut. */
  readonly note: string;
  /** The moment, as `formatMicroTime` writes it. */
  readonly eventTime: string;
  /**
   * Makes it one event, however often and by whichever process it is emitted, as long as the API server keeps it (an hour unless told):
   * lower-case letters, digits and `-`, at most 60, unique among the events on objects of this name.
   */
  readonly once?: string | undefined;
}
