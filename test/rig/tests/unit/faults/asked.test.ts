import { describe, expect, it } from "vitest";
import { readAsked, rewrite } from "../../../faults/asked.ts";

const PODS = "/api/v1/pods";

describe("what a request asks for", () => {
  it.each([
    { name: "a list", method: "GET", target: PODS, verb: "list" },
    { name: "the first page of a list", method: "GET", target: `${PODS}?limit=500`, verb: "list" },
    { name: "a further page", method: "GET", target: `${PODS}?limit=500&continue=abc`, verb: "page" },
    { name: "a watch", method: "GET", target: `${PODS}?watch=true&resourceVersion=7`, verb: "watch" },
    { name: "a list as a stream", method: "GET", target: `${PODS}?watch=true&sendInitialEvents=true`, verb: "stream" },
    {
      name: "a watch that says so",
      method: "GET",
      target: `${PODS}?watch=true&sendInitialEvents=false`,
      verb: "watch",
    },
    { name: "a write", method: "PATCH", target: `${PODS}/a?fieldManager=b`, verb: "write" },
  ])("is $name", ({ method, target, verb }) => {
    expect(readAsked({ method, target, accept: "application/json" }).verb).toBe(verb);
  });

  it.each([
    { name: "to compare a store with is a check", query: "limit=500", verb: "check" },
    { name: "to compare a store with is one at every page", query: "limit=500&continue=abc", verb: "check" },
    {
      name: "to find out what the server knows is none",
      query: "limit=1&resourceVersionMatch=NotOlderThan",
      verb: "list",
    },
  ])("of identities $name", ({ query, verb }) => {
    const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

    expect(readAsked({ method: "GET", target: `${PODS}?${query}`, accept }).verb).toBe(verb);
  });

  it("is of a collection that its selectors identify, and nothing else", () => {
    const target = `${PODS}?watch=true&labelSelector=a%3Db&resourceVersion=7&fieldSelector=c%3Dd`;

    const asked = readAsked({ method: "GET", target });

    expect(asked.collection).toBe("/api/v1/pods fieldSelector=c=d labelSelector=a=b");
  });
});

describe("what the cache of a server cannot answer", () => {
  it.each([
    { name: "a list of the newest state", query: "", isScan: true },
    { name: "a page of it", query: "limit=500", isScan: true },
    { name: "a further page", query: "limit=500&continue=abc", isScan: true },
    {
      name: "a question for a position",
      query: "limit=1&resourceVersion=7&resourceVersionMatch=NotOlderThan",
      isScan: true,
    },
    { name: "a list of one state", query: "resourceVersion=7&resourceVersionMatch=Exact", isScan: true },
    { name: "not a list of whatever the cache has", query: "resourceVersion=0", isScan: false },
    { name: "not a page of that", query: "resourceVersion=0&limit=500", isScan: false },
    {
      name: "not a list of a state that it will have",
      query: "resourceVersion=7&resourceVersionMatch=NotOlderThan",
      isScan: false,
    },
    { name: "not a list as a stream", query: "watch=true&sendInitialEvents=true", isScan: false },
    { name: "not a watch", query: "watch=true&resourceVersion=7", isScan: false },
  ])("is $name: $isScan", ({ query, isScan }) => {
    expect(readAsked({ method: "GET", target: `/api/v1/pods?${query}` }).isScan).toBe(isScan);
  });
});

describe("rewriting a request", () => {
  it.each([
    { name: "makes pages smaller", target: `${PODS}?limit=500`, how: { pageSize: 4 }, to: `${PODS}?limit=4` },
    { name: "does not make a page larger", target: `${PODS}?limit=1`, how: { pageSize: 4 }, to: `${PODS}?limit=1` },
    { name: "makes no pages where none were asked for", target: PODS, how: { pageSize: 4 }, to: PODS },
    {
      name: "shortens a watch by the speed",
      target: `${PODS}?timeoutSeconds=301`,
      how: { speed: 50 },
      to: `${PODS}?timeoutSeconds=7`,
    },
    {
      name: "cuts a watch",
      target: `${PODS}?timeoutSeconds=301`,
      how: { watchSeconds: 4 },
      to: `${PODS}?timeoutSeconds=4`,
    },
    {
      name: "leaves the rest alone",
      target: `${PODS}?timeoutSeconds=301&limit=500&a=b`,
      how: {},
      to: `${PODS}?timeoutSeconds=301&limit=500&a=b`,
    },
  ])("$name", ({ target, how, to }) => {
    expect(rewrite(target, how)).toBe(to);
  });
});
