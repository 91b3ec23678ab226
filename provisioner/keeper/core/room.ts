/** What statfs(2) says of a filesystem. */
export interface FilesystemRoom {
  readonly blockBytes: number;
  readonly blocks: number;
  /** Blocks that others than root may take. */
  readonly availableBlocks: number;
}

/** An image's size, and what of it has blocks on the disk. */
export interface ImageRoom {
  readonly bytes: number;
  readonly allocatedBytes: number;
}

export interface Room {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** Loop devices have sectors of 512 or 4,096 bytes: an image of whole sectors of either loses no byte at its end. */
const SECTOR = 4_096;

/** The size of an image for a request of this size, at least as much. */
export function imageBytes(requested: number): number {
  return Math.ceil(requested / SECTOR) * SECTOR;
}

/**
 * What a pool has left for further images: without the reserve, and without what its images are still to take. All of an image has blocks
 * from the beginning, but its user can give some back (a hole in a Block volume): they stay his.
 */
export function roomOf(
  { blockBytes, blocks, availableBlocks }: FilesystemRoom,
  { reservePercent, images }: { readonly reservePercent: number; readonly images: readonly ImageRoom[] },
): Room {
  const totalBytes = blockBytes * blocks;
  const reserve = Math.ceil((totalBytes * reservePercent) / 100);
  const owed = images.reduce((sum, image) => sum + Math.max(0, image.bytes - image.allocatedBytes), 0);
  return { totalBytes, freeBytes: Math.max(0, blockBytes * availableBlocks - reserve - owed) };
}
