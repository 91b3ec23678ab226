import type { Clock } from "../../../common/runtime/clock.ts";
import { createAuthority } from "../control-plane/certificates.ts";
import { Arming, type ArmingOptions, type Tally } from "./arming.ts";
import { Armory } from "./armory.ts";
import type { Rewriting } from "./asked.ts";
import { Breaker } from "./breaker.ts";
import type { RequestRecord } from "./exchange.ts";
import type { Fault, FaultKind, ProxyFaultKind, Refusal } from "./fault.ts";
import { startFront } from "./front.ts";
import { OpenWatches } from "./open-watches.ts";
import { type Relay, startRelay } from "./relay.ts";
import { Serving } from "./serving.ts";
import { createUpstream, type Identity } from "./upstream.ts";

/** A server in front of an API server that breaks what it is told to break. */
export interface FaultProxy {
  readonly url: string;
  /** The certificate of the authority that signed its own, PEM. */
  readonly ca: string;
  /** Lets a fault hit the next thing that it can hit. */
  readonly arm: (fault: Fault<ProxyFaultKind>) => void;
  /** Breaks every connection and refuses every request until the answer is called. */
  readonly shut: (refusal: Refusal) => () => void;
  /** What is armed and has not hit. */
  readonly waiting: () => readonly FaultKind[];
  /** Forgets what is armed. What has hit stays as it is: a dead connection stays dead. */
  readonly disarm: () => void;
  /** How often each kind has hit. */
  readonly hits: () => ReadonlyMap<FaultKind, number>;
  /** How many faults there have been, and what became of them. */
  readonly tally: () => Tally;
  /** How often the API server itself has said that it does not know a resource version any more. */
  readonly expirations: () => number;
  readonly requests: () => readonly RequestRecord[];
  readonly connections: Relay["connections"];
  readonly frozenMs: Relay["frozenMs"];
  readonly close: () => Promise<void>;
}

/** How a proxy behaves, faults aside. */
export interface FaultProxyOptions extends Rewriting, ArmingOptions {
  /** The server behind the proxy, and the account with which the proxy calls it for every client. */
  readonly target: Identity;
  /** What the length of faults and the times of requests are measured with. */
  readonly clock: Clock;
  /** Refuses streaming lists, as a server without them does. */
  readonly refusesStreams?: boolean;
}

/** Starts a proxy at a free port of 127.0.0.1. It breaks nothing until it is told to. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const { clock, protocol, target } = options;
  const authority = await createAuthority("mooring-faults");
  const armory = new Armory();
  const upstream = createUpstream(target);
  const relay = await startRelay(clock, () => front.port);
  const breaker = new Breaker(relay);
  const watches = new OpenWatches({ armory, breaker });
  const serving = new Serving({ armory, breaker, clock, upstream, watches }, options);
  const front = await startFront(await authority.server(["127.0.0.1"]), protocol, (call) => serving.serve(call));
  const closing = new AbortController();
  const shut = (refusal: Refusal, onRefused: () => void): (() => void) => serving.shut(refusal, onRefused);
  const arming = new Arming({ armory, watches, clock, shut, signal: closing.signal }, options);
  return {
    url: `https://127.0.0.1:${relay.port}`,
    ca: authority.certificate,
    arm: (fault) => arming.arm(fault),
    shut: (refusal) => shut(refusal, () => {}),
    waiting: () => armory.waiting,
    disarm: () => armory.disarm(),
    hits: () => armory.hits,
    tally: () => arming.tally,
    expirations: () => armory.expirations,
    requests: () => serving.records(),
    connections: relay.connections,
    frozenMs: relay.frozenMs,
    close: async () => {
      closing.abort();
      await relay.close();
      await front.close();
      upstream.close();
    },
  };
}
