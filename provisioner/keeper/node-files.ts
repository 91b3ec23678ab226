import { lstat, open, readdir, readFile, readlink, stat, statfs } from "node:fs/promises";

/** What the keeper reads of the node, each by one or two system calls. Rejects with the code of the call that failed. */
export interface NodeFiles {
  /** open(2); a loop device that is opened here stays open until the file is closed. */
  readonly open: (path: string, flags: number) => Promise<OpenFile>;
  /** Follows a link at the end of the path. */
  readonly stat: (path: string) => Promise<FileFacts>;
  readonly lstat: (path: string) => Promise<FileFacts>;
  readonly statfs: (path: string) => Promise<FilesystemFacts>;
  readonly names: (folder: string) => Promise<readonly string[]>;
  readonly readText: (path: string) => Promise<string>;
  readonly linkTarget: (path: string) => Promise<string>;
}

/** An open file, folder or device. */
export interface OpenFile extends AsyncDisposable {
  readonly fd: number;
  readonly stat: () => Promise<FileFacts>;
  readonly readText: () => Promise<string>;
  readonly close: () => Promise<void>;
}

export interface FileFacts {
  /** Number of the device that contains the file. */
  readonly device: bigint;
  readonly inode: bigint;
  readonly bytes: number;
  readonly allocatedBytes: number;
  readonly isFile: boolean;
}

export interface FilesystemFacts {
  /** `f_type` */
  readonly type: number;
  readonly blockBytes: number;
  readonly blocks: number;
  /** Blocks that users other than root may allocate. */
  readonly availableBlocks: number;
}

/** As in stat(2), independent of the filesystem's block size. */
const STAT_BLOCK = 512;

/** The files of the node that this process sees. */
export const NODE_FILES: NodeFiles = {
  open: openFile,
  stat: async (path) => factsOf(await stat(path, { bigint: true })),
  lstat: async (path) => factsOf(await lstat(path, { bigint: true })),
  statfs: async (path) => {
    const { type, bsize, blocks, bavail } = await statfs(path);
    return { type, blockBytes: bsize, blocks, availableBlocks: bavail };
  },
  names: readdir,
  readText: (path) => readFile(path, "utf8"),
  linkTarget: readlink,
};

async function openFile(path: string, flags: number): Promise<OpenFile> {
  const file = await open(path, flags);
  const close = (): Promise<void> => file.close();
  return {
    fd: file.fd,
    stat: async () => factsOf(await file.stat({ bigint: true })),
    readText: () => file.readFile("utf8"),
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Stats {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly blocks: bigint;
  readonly isFile: () => boolean;
}

function factsOf(stats: Stats): FileFacts {
  const { dev, ino, size, blocks } = stats;
  return {
    device: dev,
    inode: ino,
    bytes: Number(size),
    allocatedBytes: Number(blocks) * STAT_BLOCK,
    isFile: stats.isFile(),
  };
}
