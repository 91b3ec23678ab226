import { expect, it } from "vitest";
import { registerApi } from "../../../../common/kube/api-metrics.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, inTurn, json } from "../../../fakes/transport.ts";

const never = new AbortController().signal;

it("counts requests to the API server as client-go does: by method and code, and those that no answer came to", async () => {
  const clock = createFakeClock();
  const forbidden = json({ kind: "Status", code: 403, reason: "Forbidden" }, 403);
  const transport = createFakeTransport(inTurn(json({}), json({}), forbidden, "broken"));
  const client = createKubeClient(createFakeConnection(transport), { clock });
  const metrics = createMetrics();
  registerApi({ metrics, client, clock });
  const ask = (method: "GET" | "PATCH"): Promise<unknown> =>
    client.request({ method, path: "/api/v1/pods" }, never).catch(() => undefined);

  for (const method of ["GET", "GET", "PATCH", "PATCH"] as const) await ask(method);

  const lines = (await metrics.text()).split("\n").filter((line) => /^rest_client_.*(total|count)\{/.test(line));
  expect(lines).toEqual([
    'rest_client_requests_total{method="GET",code="200"} 2',
    'rest_client_requests_total{method="PATCH",code="403"} 1',
    'rest_client_requests_total{method="PATCH",code="<error>"} 1',
    'rest_client_request_duration_seconds_count{verb="GET"} 2',
    'rest_client_request_duration_seconds_count{verb="PATCH"} 2',
  ]);
});
