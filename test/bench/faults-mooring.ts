// Follows collections by common/kube, as a program in a pod does.
import { createKubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { createInformer } from "../../common/kube/informer.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { createLogger } from "../../common/runtime/logger.ts";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { readSeen } from "../rig/faults/direct.ts";
import { type ChildTask, pathOf, report, show } from "./faults-child.ts";

const task: ChildTask = JSON.parse(process.argv[2] ?? "");
const [clock, logger, random] = [createSystemClock(), createLogger("silent"), createSystemRandom()];
const connection = await connect({ inCluster: true, clock, logger, serviceAccount: task.access }, process.env);
const parts = { client: createKubeClient(connection, { clock }), clock, random, logger };
const informers = task.follow.map(({ labelSelector, ...collection }, index) =>
  createInformer(parts, {
    collection: {
      path: pathOf(collection),
      listsFrom: "quorum",
      ...(labelSelector === undefined ? {} : { query: { labelSelector } }),
    },
    project: readSeen,
    onChange: ({ kind, object }) => report({ collection: index, kind, object }),
  }),
);
show(task.port, () => informers.map((informer) => [...informer.all()]));
const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());
await Promise.all(informers.map((informer) => informer.run(stop.signal)));
process.exit();
