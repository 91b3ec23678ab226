import { createKubeClient, type KubeClient } from "../../../../common/kube/client.ts";
import { createFakeClock, type FakeClock } from "../../../fakes/clock.ts";
import {
  createFakeConnection,
  createFakeTransport,
  type FakeAnswer,
  type FakeTransport,
  json,
} from "../../../fakes/transport.ts";

/** A client of a server that answers everything with the same, and a counter of outcomes. */
export function answeredBy(answer: FakeAnswer): {
  readonly client: KubeClient;
  readonly clock: FakeClock;
  readonly transport: FakeTransport;
  readonly counted: readonly string[];
  readonly writes: { readonly increment: (labels: { readonly outcome: string }) => void };
} {
  const transport = createFakeTransport(() => answer);
  const clock = createFakeClock();
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const counted: string[] = [];
  return { client, clock, transport, counted, writes: { increment: ({ outcome }) => void counted.push(outcome) } };
}

/** What an API server says that refuses a write. */
export function refusal(code: number, status: Readonly<Record<string, unknown>> = {}): FakeAnswer {
  const details = { name: "data", kind: "persistentvolumeclaims" };
  return json({ kind: "Status", status: "Failure", message: "no", code, details, ...status }, code);
}
