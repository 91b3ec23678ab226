/** An event on a Kubernetes object, for people to read. */
export interface KubeEvent {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    /** Empty for a cluster-scoped object. */
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly type: "Normal" | "Warning";
  /** A constant in CamelCase. */
  readonly reason: string;
  /** What was done or observed, a constant in CamelCase. */
  readonly action: string;
  /** A sentence, at most 1,024 bytes; longer text is cut. */
  readonly note: string;
  /** The time, as written by `formatMicroTime`. */
  readonly eventTime: string;
  /**
   * With this, all processes that emit the event create one Event object, as long as the API server keeps it (an hour by default).
   * Lower-case letters, digits and `-`, at most 60, unique among the events on objects of this name.
   */
  readonly once?: string | undefined;
}
