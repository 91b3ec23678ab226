import { connect } from "node:http2";
import { HarnessError } from "../process/errors.ts";
import type { Identity } from "./upstream.ts";

const LIMIT_MS = 10_000;

/**
 * Makes etcd forget every state before a revision, which is a resource version of the API server. This is gRPC by hand (KV.Compact of
 * etcd's rpc.proto): etcd's gateway for JSON does not work with the certificates that a control plane's etcd has.
 */
export async function compact(etcd: Identity, revision: string): Promise<void> {
  const session = connect(etcd.url, { ca: etcd.ca, cert: etcd.certificate, key: etcd.key });
  try {
    const status = await new Promise<string>((resolve, reject) => {
      session.on("error", reject);
      const stream = session.request({
        ":method": "POST",
        ":path": "/etcdserverpb.KV/Compact",
        "content-type": "application/grpc",
        te: "trailers",
      });
      stream.setTimeout(LIMIT_MS, () => reject(new HarnessError("etcd does not answer")));
      stream.on("error", reject);
      // A refusal without a body has its status in the head.
      stream.on("response", (headers) => {
        if (headers["grpc-status"] !== undefined) resolve(describe(headers));
      });
      stream.on("trailers", (trailers) => resolve(describe(trailers)));
      stream.resume();
      stream.end(grpcFrame(compactionRequest(BigInt(revision))));
    });
    if (status !== "0") throw new HarnessError(`etcd does not compact at ${revision}: ${status}`);
  } finally {
    session.destroy();
  }
}

function describe(headers: Readonly<Record<string, unknown>>): string {
  const { "grpc-status": status, "grpc-message": message } = headers;
  return status === "0" ? "0" : `${status} ${message}`;
}

/** A message as gRPC frames it: not compressed, its length in four bytes. */
export function grpcFrame(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** CompactionRequest: `int64 revision = 1; bool physical = 2`, the latter true, so that the answer comes when it is done. */
export function compactionRequest(revision: bigint): Buffer {
  return Buffer.from([0x08, ...varint(revision), 0x10, 1]);
}

function varint(value: bigint): readonly number[] {
  if (value < 128n) return [Number(value)];
  return [Number(value & 127n) | 128, ...varint(value >> 7n)];
}
