import type { ByteTransport } from "../../common/kube/transport.ts";
import { createFakeLogger, type FakeLogger } from "../fakes/logger.ts";
import type { SimApi } from "../simulation/engine/api/api.ts";
import type { NewObject, ResourceName } from "../simulation/engine/api/objects.ts";
import { createEngine, type Engine, type ProcessMain, type ProcessOptions } from "../simulation/engine/engine.ts";
import { type FaultPolicy, NO_FAULTS } from "../simulation/engine/fate.ts";
import type { SimProcess } from "../simulation/engine/process.ts";

/** How long something that is under way may take at most, on the clock of the house. Milliseconds. */
const LONGEST_MS = 60_000;
const STEP_MS = 5;

/** How the API server is away: it refuses connections, takes requests and never answers, or a proxy answers in its place. */
export type Absence = "broken" | "silence" | "unavailable";

const ABSENT: Readonly<Record<Absence, FaultPolicy>> = {
  broken: NO_FAULTS,
  silence: () => ({ lost: "request" }),
  unavailable: () => ({ refusal: { status: 503 } }),
};

const houses: House[] = [];

/** Ends all programs of a test. Throws the error of a program that ended by itself. */
export async function closeHouses(): Promise<void> {
  const failures = await Promise.all(houses.splice(0).map((house) => house.close()));
  const [failure] = failures.flat();
  if (failure !== undefined) throw failure;
}

/** A cluster in virtual time whose API server answers as a real one does. Whole programs run in it, through their ports alone. */
export class House {
  readonly engine: Engine;
  readonly #processes: SimProcess[] = [];
  readonly #loggers: FakeLogger[] = [];
  #faultPolicy: FaultPolicy = NO_FAULTS;

  /** With so many API servers, of which only `setFaults` leads to another one than the first. */
  constructor(servers = 1) {
    this.engine = createEngine({ seed: 1, servers, faultPolicy: (call) => this.#faultPolicy(call) });
    houses.push(this);
  }

  get api(): SimApi {
    return this.engine.api;
  }

  get nowMs(): number {
    return this.engine.trueWallMs();
  }

  /** From now on the API server fails requests of these kinds, such as `list pods`; by default none. */
  refuse(isRefused: (site: string, process: string) => boolean = () => false): void {
    this.setFaults(({ site, from }) => (isRefused(site, from) ? { refusal: { status: 500 } } : {}));
  }

  /** Sets the fate of each request from now on. */
  setFaults(faultPolicy: FaultPolicy): void {
    this.#faultPolicy = faultPolicy;
  }

  /** All watches end, and nothing is answered until it is back. */
  sendApiAway(how: Absence): void {
    for (const server of this.api.servers) {
      server.isUp = how !== "broken";
      server.cut();
    }
    this.setFaults(ABSENT[how]);
  }

  bringApiBack(): void {
    for (const server of this.api.servers) server.isUp = true;
    this.setFaults(NO_FAULTS);
  }

  create(resource: ResourceName, object: NewObject): void {
    this.api.create(resource, object);
  }

  /** Keeps the lines of a program: a bug that it survived fails the test. */
  logger(): FakeLogger {
    const logger = createFakeLogger();
    this.#loggers.push(logger);
    return logger;
  }

  start(options: ProcessOptions, main: ProcessMain): SimProcess {
    const process = this.engine.start(options, main);
    this.#processes.push(process);
    return process;
  }

  /** A way to the API server beside that of the programs. */
  transport(name: string): ByteTransport {
    return this.engine.transport(name);
  }

  async pass(ms: number): Promise<void> {
    const { scheduler } = this.engine;
    await scheduler.runUntil(scheduler.nowMs() + ms);
  }

  /** Lets as much time pass as it takes. */
  async until(condition: () => boolean): Promise<void> {
    for (let ms = 0; ms < LONGEST_MS; ms += STEP_MS) {
      if (condition()) return;
      await this.pass(STEP_MS);
    }
    throw new Error("this never came true");
  }

  /** Lets as much time pass as the answer takes. */
  async answerOf<T>(request: Promise<T>): Promise<T> {
    let isThere = false;
    const answer = request.finally(() => {
      isThere = true;
    });
    await this.until(() => isThere);
    return await answer;
  }

  /** What the programs that failed threw. */
  async close(): Promise<readonly unknown[]> {
    const failures = this.#processes.filter((one) => one.state() === "failed").map((one) => one.failure());
    await this.engine.close();
    for (const logger of this.#loggers) logger.throwBug();
    return failures;
  }
}
