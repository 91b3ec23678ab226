/** Opens once; others wait for it. */
export interface Latch {
  readonly open: () => void;
  readonly isOpen: () => boolean;
  readonly opened: Promise<void>;
}

export function createLatch(): Latch {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isOpen = false;
  return {
    open: () => {
      isOpen = true;
      resolve();
    },
    isOpen: () => isOpen,
    opened: promise,
  };
}
