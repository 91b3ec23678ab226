import { describe, expect, it } from "vitest";
import { kubeconfig } from "../../../control-plane/kubeconfig.ts";

const cluster = { url: "https://127.0.0.1:6443", ca: "CA" };

describe("kubeconfig", () => {
  it("inlines the authority and a client certificate", () => {
    const config: unknown = JSON.parse(kubeconfig(cluster, { certificate: "CERT", key: "KEY" }));

    expect(config).toMatchObject({
      clusters: [{ cluster: { server: "https://127.0.0.1:6443", "certificate-authority-data": "Q0E=" } }],
      users: [{ user: { "client-certificate-data": "Q0VSVA==", "client-key-data": "S0VZ" } }],
      "current-context": "mooring",
    });
  });

  it("contains a token unchanged", () => {
    const config: unknown = JSON.parse(kubeconfig(cluster, { token: "abc" }));

    expect(config).toMatchObject({ users: [{ user: { token: "abc" } }] });
  });
});
