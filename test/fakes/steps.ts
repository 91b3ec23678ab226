import type { Steps } from "../../common/runtime/steps.ts";

/** Work of one step. */
export function* oneStep<T>(result: T): Steps<T> {
  yield;
  return result;
}
