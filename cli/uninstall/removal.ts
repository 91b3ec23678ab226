/** The removal of all that Mooring wrote to one claim or volume. */
export interface Removal {
  readonly namespace?: string;
  readonly claim?: string;
  readonly volume?: string;
  readonly path: string;
  /** The claim is being deleted. */
  readonly isDeleting?: boolean;
  /** A strategic merge patch of the object's status. Valid only for the exact object, in the exact state, that was read. */
  readonly body: object;
}
