import type { HttpRequest } from "../../../../common/kube/transport.ts";
import type { FakeAnswer } from "../../../fakes/transport.ts";
import { refusal } from "./cluster.ts";
import { NODE, node, PV, pod, podAt, RUNNING, type startScene, volume } from "./scene.ts";

type Scene = Awaited<ReturnType<typeof startScene>>;

/** What may happen, to one of a few pods where it is about a pod. */
export type Happening =
  | {
      readonly kind: "bind" | "start" | "touch" | "delete" | "remake" | "mount" | "unmount" | "revert";
      readonly on: number;
    }
  | { readonly kind: "volume" | "node"; readonly zone: "a" | "b" }
  | { readonly kind: "hold" | "release" | "blind" | "see" }
  | { readonly kind: "fault"; readonly what: Fault }
  | { readonly kind: "pass"; readonly ms: number };

/** What the API server does to the next request that it can be done to. */
export type Fault = "lost" | "broken" | "conflict" | "forbidden" | "unreadable" | "slow";

const GRACE_MS = 5_000;
const TOKEN = "/var/lib/kubelet/pods/agent-1/volumes/kubernetes.io~projected/kube-api-access-x7k2p";

function mountOf(uid: string): string {
  return `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~nfs/pv-1`;
}

/** Plays what happens on a scene, and notes each rejection that the truth at its moment forbids. */
export class Story {
  readonly #scene: Scene;
  readonly #mounted = new Set<string>();
  readonly #faults: Fault[] = [];
  /** UIDs of pods that have been rejected and not reverted since. */
  readonly #rejected = new Set<string>();
  readonly #reverts = new Map<string, number>();
  /** When each pod began to wait, by UID, and when the labels of the node changed last. */
  readonly #since = new Map<string, number>();
  #labelsSince = 0;
  readonly violations: string[] = [];
  /** How many pods were rejected. */
  rejections = 0;
  #versions = 0;
  #isBlind = false;
  #zones = { volume: "b", node: "a" };
  #labels = "a";

  constructor(scene: Scene) {
    this.#scene = scene;
    scene.cluster.intercept = (request, serve) => this.#intercept(request, serve);
  }

  async play(happening: Happening): Promise<void> {
    const { cluster, advance, enforcement } = this.#scene;
    switch (happening.kind) {
      case "volume":
      case "node":
        this.#zones = { ...this.#zones, [happening.kind]: happening.zone };
        if (happening.kind === "volume") cluster.put(PV, volume(happening.zone));
        else this.#relabel(happening.zone);
        return;
      case "hold":
        return enforcement.onAnswer({ forget: [], pauseRejections: "a story says so" });
      case "release":
        return enforcement.onAnswer({ forget: [] });
      case "blind":
      case "see":
        return this.#look(happening.kind === "blind");
      case "fault":
        return void this.#faults.push(happening.what);
      case "pass":
        return await advance(happening.ms);
      default:
        return this.#change(happening.kind, `pod-${happening.on}`);
    }
  }

  /** Nothing is in the way any more; what is wrong has to be rejected. */
  async heal(): Promise<readonly string[]> {
    this.#faults.length = 0;
    this.#look(false);
    await this.play({ kind: "release" });
    await this.#scene.advance(3_600_000);
    // One that came back three times is given up.
    const isDue = (uid: string): boolean => !this.#mounted.has(uid) && (this.#reverts.get(uid) ?? 0) < 3;
    return this.#waiting().filter((name) => isDue(this.#uid(name)));
  }

  /** True where a pod that waits for the volume is to be rejected, and the limits of the node leave it. */
  get isWrong(): boolean {
    return this.#zones.volume !== this.#zones.node;
  }

  #relabel(zone: "a" | "b"): void {
    const { cluster, clock } = this.#scene;
    if (this.#labels !== zone) this.#labelsSince = clock.monotonicMs();
    this.#labels = zone;
    cluster.put(NODE, node(zone));
  }

  #waiting(): readonly string[] {
    const names = [0, 1].map((on) => `pod-${on}`);
    return names.filter((name) => this.#scene.phase(name) === "Pending");
  }

  #uid(name: string): string {
    return this.#scene.cluster.get(podAt(name))?.metadata.uid ?? "";
  }

  #look(isBlind: boolean): void {
    if (isBlind === this.#isBlind) return;
    this.#isBlind = isBlind;
    if (isBlind) this.#scene.table.unmount(TOKEN);
    else this.#scene.table.mount(TOKEN);
  }

  #change(kind: Extract<Happening, { readonly on: number }>["kind"], name: string): void {
    const { cluster, phase } = this.#scene;
    const uid = this.#uid(name);
    const isThere = uid !== "";
    const isWaiting = phase(name) === "Pending";
    if (kind === "bind" || kind === "remake") this.#make(kind, { name, isThere });
    if (kind === "delete" && isThere) cluster.remove(podAt(name));
    if (kind === "start" && isWaiting) cluster.put(podAt(name), pod(name, { uid, status: RUNNING }));
    if (kind === "touch" && isWaiting) cluster.put(podAt(name), pod(name, { uid, status: { message: "again" } }));
    if (kind === "revert" && phase(name) === "Failed") this.#revert(name, uid);
    if (kind === "mount" || kind === "unmount") this.#mount(kind, { uid, isWaiting });
  }

  #make(kind: "bind" | "remake", { name, isThere }: { readonly name: string; readonly isThere: boolean }): void {
    const { cluster, clock } = this.#scene;
    if (isThere !== (kind === "remake")) return;
    if (isThere) cluster.remove(podAt(name));
    this.#versions += 1;
    const made = pod(name, { uid: `${name}-${this.#versions}` });
    this.#since.set(made.metadata.uid, clock.monotonicMs());
    cluster.put(podAt(name), made);
  }

  #revert(name: string, uid: string): void {
    this.#rejected.delete(uid);
    this.#reverts.set(uid, (this.#reverts.get(uid) ?? 0) + 1);
    this.#scene.cluster.put(podAt(name), pod(name, { uid }));
  }

  #mount(kind: "mount" | "unmount", { uid, isWaiting }: { readonly uid: string; readonly isWaiting: boolean }): void {
    const { table } = this.#scene;
    if (kind === "unmount" && this.#mounted.delete(uid)) table.unmount(mountOf(uid));
    if (kind !== "mount" || !isWaiting || this.#mounted.has(uid)) return;
    this.#mounted.add(uid);
    table.mount(mountOf(uid));
  }

  #intercept({ method, path }: HttpRequest, serve: () => FakeAnswer): FakeAnswer | undefined {
    if (path.includes("watch=") || path.includes("fieldSelector=") || method === "POST") return undefined;
    const isChange = method === "PATCH";
    const fault = this.#faultFor(isChange);
    if (fault === "slow") this.#scene.clock.suspend(10_000);
    if (fault === "broken" || fault === "unreadable") return "broken";
    if (fault === "conflict") return refusal(409, "Conflict");
    if (fault === "forbidden") return { status: 403, body: "no" };
    if (!isChange) return undefined;
    const answer = this.#judged(path.replace(/\/status.*$/, ""), serve);
    return fault === "lost" ? "broken" : answer;
  }

  /** The next fault, if it can be done to such a request. */
  #faultFor(isChange: boolean): Fault | undefined {
    const [fault] = this.#faults;
    const fits = fault === "slow" || isChange === (fault !== "unreadable");
    return fault !== undefined && fits ? this.#faults.shift() : undefined;
  }

  /** Lets the API server do it, and compares with the truth of that moment if it did. */
  #judged(place: string, serve: () => FakeAnswer): FakeAnswer {
    const object = this.#scene.cluster.get(place);
    const answer = serve();
    if (typeof answer === "string" || answer.status !== 200) return answer;
    const uid = object?.metadata.uid ?? "";
    const complain = (what: string): void => void this.violations.push(`${place} (${uid}): ${what}`);
    if (object?.status?.phase !== "Pending") complain(`it is ${object?.status?.phase ?? "gone"}`);
    if (!this.isWrong) complain("its volume is right");
    if (this.#mounted.has(uid)) complain("it has its volume mounted");
    if (this.#isBlind) complain("nobody can see its mounts");
    if (this.#rejected.has(uid)) complain("it was rejected before");
    const since = Math.max(this.#since.get(uid) ?? 0, this.#labelsSince);
    if (this.#scene.clock.monotonicMs() - since < GRACE_MS) complain("the grace period is not over");
    this.#rejected.add(uid);
    this.rejections += 1;
    return answer;
  }
}
