import { describe, expect, it } from "vitest";
import { bearerToken, claimedPodUid, tokenExpiry } from "../../../../aggregator/core/bearer-token.ts";

describe("the token of an authorization header", () => {
  const longest = `a.b.${"c".repeat(8_192 - "Bearer a.b.".length)}`;

  it.each<readonly [name: string, header: string | undefined, token: string | undefined]>([
    ["is three parts of base64url", "Bearer a-1.b_2.c", "a-1.b_2.c"],
    ["may have spaces around it, and any case of its scheme", "bEARER   a.b.c  ", "a.b.c"],
    ["is none without a header", undefined, undefined],
    ["is none of two parts", "Bearer a.b", undefined],
    ["is none of another alphabet", "Bearer a.b.c=", undefined],
    ["is none behind something else", "x Bearer a.b.c", undefined],
    ["has 8,192 characters with its scheme", `Bearer ${longest}`, longest],
    ["has no more, nor spaces", `Bearer ${longest} `, undefined],
  ])("%s", (_, header, token) => {
    expect(bearerToken(header)).toBe(token);
  });
});

describe("a token says when it ends, and whose pod's it is", () => {
  const tokenOf = (text: string) => `x.${Buffer.from(text).toString("base64url")}.y`;
  const ofPod = (uid: unknown) => tokenOf(JSON.stringify({ exp: 12, "kubernetes.io": { pod: { uid } } }));
  const longest = "u".repeat(128);

  it.each<readonly [name: string, token: string, endsMs: number | undefined, uid: string | undefined]>([
    ["both", ofPod(longest), 12_000, longest],
    ["no UID that is too long", ofPod(`${longest}u`), 12_000, undefined],
    ["no UID that is none", ofPod(7), 12_000, undefined],
    ["no end that is no number", tokenOf('{"exp":"12","kubernetes.io":{"pod":null}}'), undefined, undefined],
    ["no end that never comes", tokenOf('{"exp":1e999,"kubernetes.io":"x"}'), undefined, undefined],
    ["nothing where it is no object", tokenOf("null"), undefined, undefined],
    ["nothing where it cannot be read", tokenOf("{"), undefined, undefined],
    ["nothing where it has no second part", "x", undefined, undefined],
  ])("%s", (...[, token, endsMs, podUid]) => {
    expect([tokenExpiry(token), claimedPodUid(token)]).toEqual([endsMs, podUid]);
  });
});
