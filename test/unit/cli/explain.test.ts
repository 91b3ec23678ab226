import { describe, expect, it } from "vitest";
import { claimsIn, explain, VOLUMES } from "../../../cli/explain.ts";
import { ApiError } from "../../../common/kube/client.ts";
import { MooringError } from "../../../common/runtime/errors.ts";

const shop = { server: "https://api:6443", requested: claimsIn({ namespace: "shop" }) };

function answered(status: number, message: string): ApiError {
  return new ApiError(`GET /api/v1/x answered ${status}: ${message}`, { status, retryAfterMs: undefined });
}

function coded(code: string, message = ""): Error {
  return Object.assign(new Error(message), { code });
}

function unreachable(cause: unknown): MooringError {
  return new MooringError("transport-failed", "GET https://api:6443 failed: ", { cause });
}

describe("explain", () => {
  it.each([
    {
      name: "claims of one namespace",
      requested: shop.requested,
      right: '"list persistentvolumeclaims" in namespace shop.',
    },
    {
      name: "claims of all namespaces",
      requested: claimsIn("all"),
      right: '"list persistentvolumeclaims" in all namespaces.',
    },
    { name: "volumes", requested: VOLUMES, right: '"list persistentvolumes".' },
  ])("names the right that is missing for $name, and repeats the server", ({ requested, right }) => {
    const lines = explain(answered(403, 'User "bob" cannot list'), { ...shop, requested });

    expect(lines?.[0]).toBe(`Forbidden: you lack the right ${right}`);
    expect(lines?.at(-1)).toBe('The API server said: User "bob" cannot list');
  });

  it.each([
    {
      name: "credentials that are not accepted",
      error: answered(401, "Unauthorized"),
      said: "does not accept your credentials.",
    },
    { name: "any other refusal", error: answered(503, "overloaded"), said: "refused (503): overloaded" },
    { name: "an escape sequence of a proxy", error: answered(502, "\u001b[2J"), said: "refused (502): ?[2J" },
    {
      name: "a kubeconfig, without the lines that quote it",
      error: new MooringError("kubeconfig-invalid", "cannot read it\n 1 | token: secret"),
      said: "cannot read it",
    },
    { name: "a refused connection", error: unreachable(coded("ECONNREFUSED")), said: ": connection refused" },
    {
      name: "several addresses tried in vain",
      error: unreachable(new AggregateError([coded("ECONNREFUSED"), coded("ENETUNREACH")])),
      said: ": connection refused",
    },
    {
      name: "a cause that lies deeper",
      error: unreachable(new Error("other", { cause: coded("ENOTFOUND") })),
      said: ": no such host name",
    },
    {
      name: "a certificate error of the TLS library",
      error: unreachable(coded("CERT_HAS_EXPIRED", "certificate has expired")),
      said: ": certificate has expired",
    },
    { name: "a code without a message", error: unreachable(coded("EWEIRD")), said: ": EWEIRD" },
    { name: "a cause without anything", error: unreachable(new Error("")), said: ": unknown reason" },
    {
      name: "an answer that is no JSON",
      error: new MooringError("transport-failed", "the answer for /x is no JSON", {
        cause: new SyntaxError("Unexpected <"),
      }),
      said: ": Unexpected <",
    },
  ])("explains $name", ({ error, said }) => {
    const [first] = explain(error, shop) ?? [];

    expect(first?.endsWith(said)).toBe(true);
  });

  it("is undefined for a bug", () => {
    expect(explain(new TypeError("x is undefined"), shop)).toBeUndefined();
  });
});
