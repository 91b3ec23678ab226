// The baseline of event loop lag: a Node.js process that does nothing but measure its own, as the aggregator does. What it shows is the
// machine's, not the aggregator's. Usage: idle-loop.ts <port>
import { createServer } from "node:http";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { watchEventLoop } from "../../common/runtime/event-loop.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";

const metrics = createMetrics();
createServer(async (_, response) => response.end(await metrics.text())).listen(Number(process.argv[2]), "127.0.0.1");
await watchEventLoop({ clock: createSystemClock(), metrics }, new AbortController().signal);
