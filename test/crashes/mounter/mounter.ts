import { createConnection, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parse } from "valibot";
import { HarnessError } from "../../rig/process/errors.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { waitUntil } from "../../rig/process/wait.ts";
import type { MountNamespace } from "../../rig/stand-in/mount-namespace.ts";
import type { Span } from "../record.ts";
import { type MountAnswer, type MountRequest, mountAnswer } from "./calls.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

/** Calls the kernel in a mount namespace, and returns the times around the call. Rejects when the call fails. */
export interface Mounter {
  readonly bind: (source: string, target: string) => Promise<Span>;
  readonly unmount: (target: string) => Promise<Span>;
}

type Call =
  | { readonly call: "bind"; readonly source: string; readonly target: string }
  | { readonly call: "umount"; readonly target: string };

/** Starts a mounter in a namespace; the name is for its files. */
export async function startMounter(
  owner: Owner,
  { name, namespace }: { readonly name: string; readonly namespace: MountNamespace },
): Promise<Mounter> {
  const socketFile = `${owner.folder}/${name}.sock`;
  const [command = "", ...args] = [...namespace.enter, process.execPath, MAIN, socketFile];
  const child = owner.child({ name: `${name}-mounter`, command, args, stopLimitMs: 0 });
  await child.start();
  let socket: Socket | undefined;
  const check = async (): Promise<void> => {
    socket = await connected(socketFile);
  };
  await waitUntil(owner, { what: child.name, limitMs: 20_000, child, check });
  if (socket === undefined) throw new HarnessError(`${child.name} does not answer`);
  const ask = createAsker(socket);
  return {
    bind: (source, target) => ask({ call: "bind", source, target }),
    unmount: (target) => ask({ call: "umount", target }),
  };
}

function createAsker(socket: Socket): (call: Call) => Promise<Span> {
  const waiting = new Map<number, (answer: MountAnswer | undefined) => void>();
  let asked = 0;
  createInterface({ input: socket }).on("line", (line) => {
    const answer = parse(mountAnswer, JSON.parse(line));
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  socket.on("close", () => {
    for (const answer of waiting.values()) answer(undefined);
  });
  return async (call) => {
    asked += 1;
    const request: MountRequest = { id: asked, ...call };
    const answer = await new Promise<MountAnswer | undefined>((resolve) => {
      waiting.set(request.id, resolve);
      if (socket.destroyed) resolve(undefined);
      else socket.write(`${JSON.stringify(request)}\n`);
    });
    if (answer === undefined) throw new HarnessError(`${call.call} of ${call.target}: the mounter is gone`);
    if (answer.errno !== 0) throw new HarnessError(`${call.call} of ${call.target} failed with errno ${answer.errno}`);
    return { fromMs: answer.fromMs, toMs: answer.toMs };
  };
}

function connected(file: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(file);
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}
