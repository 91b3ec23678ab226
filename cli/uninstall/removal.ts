/** The removal of all that Mooring wrote to one claim or volume. */
export interface Removal {
  readonly namespace?: string;
  readonly claim?: string;
  readonly volume?: string;
  readonly path: string;
  /** A claim that is being deleted. */
  readonly isDeleting?: boolean;
  /** A strategic merge patch of the object's status. It holds of exactly the object, in exactly the state, that was seen. */
  readonly body: object;
}
