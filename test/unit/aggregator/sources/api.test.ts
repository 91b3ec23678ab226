import { describe, expect, it } from "vitest";
import { nodeList } from "../../../../aggregator/core/node-list.ts";
import { nodesRoute } from "../../../../aggregator/sources/api.ts";

const request = { params: {}, query: new URLSearchParams(), body: async () => "" };

describe("nodesRoute", () => {
  it("answers the nodes as JSON", async () => {
    const route = nodesRoute(() => nodeList([], 0));

    const { status, body, contentType } = await route.answer(request);

    expect([route.method, route.path, status, contentType]).toEqual(["GET", "/v1/nodes", 200, "application/json"]);
    expect(JSON.parse(body)).toEqual({ apiVersion: "api.mooring.dev/v1", kind: "NodeList", items: [] });
  });

  it("asks to come again before the cluster has been listed", async () => {
    const answer = await nodesRoute(() => undefined).answer(request);

    expect(answer).toEqual({ status: 503, body: "the cluster has not been listed yet\n" });
  });
});
