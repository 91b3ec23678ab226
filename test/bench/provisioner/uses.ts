import * as v from "valibot";
import { startLog } from "../../e2e/protection/log.ts";
import { changeClaim, deleteClaim, type MadeClaim, makeClaim } from "../../e2e/provisioner/claims.ts";
import { deletePod, makePod, untilRunning } from "../../e2e/provisioner/pods.ts";
import type { ProvisionerStage } from "../../e2e/provisioner/stage.ts";
import type { NodeName } from "../../e2e/scenarios/stage.ts";
import { HarnessError } from "../../rig/process/errors.ts";

const LIMIT_MS = 900_000;

const SELECTED = "volume.kubernetes.io/selected-node";
const PROVISIONER = "volume.kubernetes.io/storage-provisioner";
const claim = v.object({
  metadata: v.object({ annotations: v.optional(v.record(v.string(), v.string()), {}) }),
  spec: v.object({ volumeName: v.optional(v.string(), "") }),
  status: v.object({ phase: v.optional(v.string(), "") }),
});

/** The durations of one claim, in milliseconds, by watches. */
export interface UseFigures {
  /** Claim and pod requested -> Bound. */
  readonly boundMs: number;
  /** Node selected and provisioner named -> PersistentVolume there: the provisioner's own share. */
  readonly provisionedMs: number;
  /** Claim and pod requested -> the pod runs. */
  readonly runningMs: number;
  /** Pod gone, which is after its last unmount -> PersistentVolume gone. */
  readonly deletedMs: number;
}

interface Begun {
  readonly made: MadeClaim;
  /** Wall clock, milliseconds. */
  readonly beganMs: number;
  readonly boundMs: number;
  readonly runningMs: number;
}

/** Makes claims of a class with a pod each, and deletes them again. */
export class Uses {
  readonly #stage: ProvisionerStage;
  readonly #storageClass: string;
  readonly #selected: (key: string) => number | undefined;
  readonly #pods: (key: string) => number | undefined;

  private constructor(
    stage: ProvisionerStage,
    storageClass: string,
    seen: {
      readonly selected: (key: string) => number | undefined;
      readonly pods: (key: string) => number | undefined;
    },
  ) {
    this.#stage = stage;
    this.#storageClass = storageClass;
    this.#selected = seen.selected;
    this.#pods = seen.pods;
  }

  static async of(stage: ProvisionerStage, storageClass: string): Promise<Uses> {
    const { owner, cluster } = stage;
    const claims = await startLog(owner, cluster.plane, {
      path: "/api/v1/persistentvolumeclaims",
      read: (object) => {
        const { annotations } = v.parse(claim, object).metadata;
        // Until kube-controller-manager, which sends 20 requests a second, has named the provisioner, the claim has none.
        return annotations[PROVISIONER] === undefined ? "" : (annotations[SELECTED] ?? "");
      },
    });
    const pods = await startLog(owner, cluster.plane, { path: "/api/v1/pods", read: () => null });
    return new Uses(stage, storageClass, {
      selected: (key) => claims(key).find(({ value }) => value !== "" && value !== "gone")?.seenMs,
      pods: (key) => pods(key).findLast(({ value }) => value === "gone")?.seenMs,
    });
  }

  /** All at once; nothing of them is left afterwards. */
  async run(names: readonly string[], nodeOf: (index: number) => NodeName): Promise<readonly UseFigures[]> {
    return await this.#end(await Promise.all(names.map((name, index) => this.#begin(name, nodeOf(index)))));
  }

  /** Claims for which a node is selected at once, as the scheduler does it, but without pods: what is left is the provisioner's own share. Milliseconds. */
  async select(names: readonly string[], nodeOf: (index: number) => NodeName): Promise<readonly number[]> {
    const stage = this.#stage;
    const terms = { size: "8Mi", storageClass: this.#storageClass };
    const made = await Promise.all(names.map((name) => makeClaim(stage, { ...terms, name })));
    const figures = made.map(async (claim, index) => {
      const annotations = { [SELECTED]: nodeOf(index) };
      await changeClaim(stage, claim, { metadata: { annotations } });
      const thereMs = await this.#seen(`${claim.volume} there`, () => stage.volumes(claim.volume).at(0)?.seenMs);
      return thereMs - (this.#selected(`default/${claim.name}`) ?? Number.NaN);
    });
    const all = await Promise.all(figures);
    await Promise.all(made.map((claim) => deleteClaim(stage, claim)));
    return all;
  }

  async #begin(name: string, node: NodeName): Promise<Begun> {
    const stage = this.#stage;
    const beganMs = stage.owner.clock.wallMs();
    const made = await makeClaim(stage, { name, size: "8Mi", storageClass: this.#storageClass });
    await makePod(stage, { name, claim: name, node });
    const boundMs = await this.#seen(
      `${name} bound`,
      () =>
        stage
          .claims(`default/${name}`)
          .find((one) => one.uid === made.uid && one.value !== "gone" && one.value.phase === "Bound")?.seenMs,
    );
    await stage.until(`${name} runs`, async () => void (await untilRunning(stage, name)), LIMIT_MS);
    const runningMs = stage.owner.clock.wallMs();
    return { made, beganMs, boundMs, runningMs };
  }

  async #end(begun: readonly Begun[]): Promise<readonly UseFigures[]> {
    const stage = this.#stage;
    return await Promise.all(
      begun.map(async ({ made, beganMs, boundMs, runningMs }) => {
        await deletePod(stage, made);
        await deleteClaim(stage, made);
        const key = `default/${made.name}`;
        const podMs = await this.#seen(`${made.name} ended`, () => this.#pods(key));
        const there = stage.volumes(made.volume).at(0)?.seenMs ?? Number.NaN;
        const goneMs = await this.#seen(
          `${made.volume} gone`,
          () => stage.volumes(made.volume).findLast(({ value }) => value === "gone")?.seenMs,
        );
        return {
          boundMs: boundMs - beganMs,
          provisionedMs: there - (this.#selected(key) ?? Number.NaN),
          runningMs: runningMs - beganMs,
          deletedMs: goneMs - podMs,
        };
      }),
    );
  }

  async #seen(what: string, read: () => number | undefined): Promise<number> {
    let seenMs: number | undefined;
    const check = (): void => {
      seenMs = read();
      if (seenMs === undefined) throw new HarnessError("it was not seen");
    };
    await this.#stage.until(what, check, LIMIT_MS);
    return seenMs ?? Number.NaN;
  }
}
