/** The answer of statfs(2) for a filesystem. */
export interface FilesystemSpace {
  readonly blockBytes: number;
  readonly blocks: number;
  /** Blocks that users other than root may allocate. */
  readonly availableBlocks: number;
}

/** An image's size, and how much of it has blocks on the disk. */
export interface ImageSpace {
  readonly bytes: number;
  readonly allocatedBytes: number;
}

export interface PoolSpace {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** Loop devices have sectors of 512 or 4,096 bytes: an image that is a multiple of both loses no byte at its end. */
const SECTOR = 4_096;

/** The size of an image for a request, at least the requested size. */
export function imageBytes(requested: number): number {
  return Math.ceil(requested / SECTOR) * SECTOR;
}

/**
 * What a pool has left for further images: without the reserve, and without the unallocated parts of its images. An image starts fully
 * allocated, but its user can free blocks (a hole in a Block volume): they stay reserved for that image.
 */
export function spaceOf(
  { blockBytes, blocks, availableBlocks }: FilesystemSpace,
  { reservePercent, images }: { readonly reservePercent: number; readonly images: readonly ImageSpace[] },
): PoolSpace {
  const totalBytes = blockBytes * blocks;
  const reserve = Math.ceil((totalBytes * reservePercent) / 100);
  const owed = images.reduce((sum, image) => sum + Math.max(0, image.bytes - image.allocatedBytes), 0);
  return { totalBytes, freeBytes: Math.max(0, blockBytes * availableBlocks - reserve - owed) };
}
