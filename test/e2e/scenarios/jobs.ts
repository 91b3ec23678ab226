import * as v from "valibot";
import { HarnessError } from "../../rig/process/errors.ts";
import { type MadePod, type PodSpec, podObject } from "./pods.ts";
import type { Stage } from "./stage.ts";

const JOBS = "/apis/batch/v1/namespaces/default/jobs";
const PODS = "/api/v1/namespaces/default/pods";

const podList = v.object({
  items: v.array(v.object({ metadata: v.object({ name: v.string(), uid: v.string() }) })),
});

/** Makes a Job of one such pod, which nobody removes when it is done, and waits until its controller has made the pod. */
export async function makeJob(stage: Stage, pod: PodSpec): Promise<MadePod> {
  const { spec } = v.parse(v.object({ spec: v.looseObject({}) }), podObject(pod));
  const job = { metadata: { name: pod.name }, spec: { backoffLimit: 0, template: { spec } } };
  await stage.api.create(JOBS, job);
  let made: MadePod | undefined;
  await stage.until(`the pod of the Job ${pod.name}`, async () => {
    const found = await stage.api.get(`${PODS}?labelSelector=job-name%3D${pod.name}`);
    const [first] = v.parse(podList, found).items;
    if (first === undefined) throw new HarnessError("there is none");
    made = { ...first.metadata, node: pod.node };
  });
  if (made === undefined) throw new HarnessError(`the Job ${pod.name} has no pod`);
  return made;
}
