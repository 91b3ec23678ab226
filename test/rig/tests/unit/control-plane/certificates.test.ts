import { createPublicKey, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createAuthority, createSigningKey } from "../../../control-plane/certificates.ts";

describe("a certificate authority", () => {
  it("signs certificates for servers by name and by address", async () => {
    const authority = await createAuthority("test");

    const server = new X509Certificate((await authority.server(["127.0.0.1", "localhost", "fd00::1"])).certificate);

    expect(server.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
    expect(server.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(server.checkIP("fd00::1")).toBeDefined();
    expect(server.checkHost("localhost")).toBe("localhost");
    expect(server.checkIP("10.0.0.1")).toBeUndefined();
    // Of a server and, for etcd that asks itself, of a client.
    expect(server.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
  });

  it("names the user and the groups in a client's certificate", async () => {
    const authority = await createAuthority("test");

    const client = new X509Certificate((await authority.client({ user: "ann", groups: ["a", "b"] })).certificate);

    expect(client.subject.split("\n").sort()).toEqual(["CN=ann", "O=a", "O=b"]);
    expect(client.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
  });

  it("may sign others, which those it signs may not", async () => {
    const authority = await createAuthority("test");
    const client = await authority.client({ user: "ann" });

    expect(new X509Certificate(authority.certificate).ca).toBe(true);
    expect(new X509Certificate(client.certificate).ca).toBe(false);
  });

  it("hands out keys that belong to the certificates", async () => {
    const { certificate, key } = await (await createAuthority("test")).client({ user: "ann" });

    const own = createPublicKey(key).export({ type: "spki", format: "pem" });

    expect(new X509Certificate(certificate).publicKey.export({ type: "spki", format: "pem" })).toBe(own);
  });
});

describe("createSigningKey", () => {
  it("yields both halves of one key", async () => {
    const { publicKey, privateKey } = await createSigningKey();

    expect(createPublicKey(privateKey).export({ type: "spki", format: "pem" })).toBe(publicKey);
  });
});
