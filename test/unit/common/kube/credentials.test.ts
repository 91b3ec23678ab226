import type { RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { createCredentials } from "../../../../common/kube/credentials.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";

/** A program whose answers are given by hand: each asking waits for its token. */
function plainRequest() {
  const requests: PromiseWithResolvers<string>[] = [];
  const open = () => ({
    applyToHTTPSOptions: async (options: RequestOptions) => {
      const answer = Promise.withResolvers<string>();
      requests.push(answer);
      options.headers = { Authorization: `Bearer ${await answer.promise}` };
    },
  });
  return { requests, credentials: createCredentials({ open, program: "give-token" }) };
}

/** client-node with a program that answers with a text. */
function answering(text: string) {
  const open = (): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: "c", server: "https://127.0.0.1:1" }],
      users: [{ name: "u", exec: { command: "printf", args: ["%s", text] } }],
      contexts: [{ name: "x", cluster: "c", user: "u" }],
      currentContext: "x",
    });
    return config;
  };
  return createCredentials({ open, program: "printf" });
}

const [OLD, NEW] = ["Bearer old", "Bearer new"];

describe("an exec credential plugin", () => {
  it("is asked once for requests that want them at the same time, and again for the next", async () => {
    const { requests, credentials } = plainRequest();

    const first = [credentials.authorization(), credentials.authorization(), credentials.authorization()];
    requests[0]?.resolve("old");
    const given = await Promise.all(first);
    const next = credentials.authorization();
    requests[1]?.resolve("new");

    expect([given, await next, requests.length]).toEqual([[OLD, OLD, OLD], NEW, 2]);
  });

  it("is asked once after a refusal of what several requests had been sent with", async () => {
    const { requests, credentials } = plainRequest();
    const before = credentials.authorization();
    requests[0]?.resolve("old");
    await before;

    const again = [1, 2, 3].map(() => {
      credentials.forget(OLD);
      return credentials.authorization();
    });
    requests[1]?.resolve("new");

    expect([await Promise.all(again), requests.length]).toEqual([[NEW, NEW, NEW], 2]);
  });

  it("runs again where it has just returned the refused credentials", async () => {
    const { requests, credentials } = plainRequest();
    const before = credentials.authorization();
    requests[0]?.resolve("old");
    await before;

    const late = credentials.authorization();
    credentials.forget(OLD);
    const fresh = credentials.authorization();
    requests[2]?.resolve("new");
    await fresh;
    requests[1]?.resolve("old");
    await late;
    credentials.forget(NEW);
    const last = credentials.authorization();
    requests[3]?.resolve("newer");

    expect(await last).toBe("Bearer newer");
  });

  it("that failed is asked again by the next request", async () => {
    const { requests, credentials } = plainRequest();
    const failing = [credentials.authorization(), credentials.authorization()];
    requests[0]?.reject(new Error("log in first"));
    const failed = await Promise.allSettled(failing);
    const next = credentials.authorization();
    requests[1]?.resolve("new");

    expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await next).toBe(NEW);
  });

  it.each([
    { name: "no status", text: "{}", lack: 'is no ExecCredential with a "status"' },
    { name: "an empty status", text: '{"status":null}', lack: 'is no ExecCredential with a "status"' },
    {
      name: "no token",
      text: '{"status":{}}',
      lack: 'has neither "status.token" nor a client certificate with its key',
    },
    {
      name: "a certificate without its key",
      text: '{"status":{"clientCertificateData":"pem"}}',
      lack: 'has neither "status.token" nor a client certificate with its key',
    },
    { name: "no JSON", text: "secret-token", lack: "is no ExecCredential in JSON" },
    { name: "nothing", text: "", lack: "is no ExecCredential in JSON" },
  ])("that returns $name is named in each error, with what is missing", async ({ text, lack }) => {
    const credentials = answering(text);
    const message = `cannot get the credentials that the kubeconfig names: the answer of the program printf ${lack}`;

    for (const asking of [credentials.read, credentials.read]) {
      await expect(asking()).rejects.toMatchObject({ code: "kubeconfig-invalid", message, retriable: true });
    }
  });

  it("never has its output in an error", async () => {
    const failure = await answering("secret-token")
      .read()
      .catch((error: unknown) => error);

    expect(failure).toBeInstanceOf(MooringError);
    expect(failure).toHaveProperty("cause", undefined);
  });

  it("may give a client certificate with its key", async () => {
    const status = { clientCertificateData: "certificate", clientKeyData: "key" };

    const options = await answering(JSON.stringify({ status })).read();

    expect(options).toMatchObject({ cert: "certificate", key: "key" });
  });
});
