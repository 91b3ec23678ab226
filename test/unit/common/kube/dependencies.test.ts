import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

describe("the JavaScript client of Kubernetes", () => {
  const sources = ["agent", "aggregator", "cli", "common"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => `${folder}/${name}`),
  );

  it("is loaded only where a kubeconfig is read, as it takes 60 MB", () => {
    const loading = sources.filter((path) =>
      /^import (?!type )[^;]*"@kubernetes\/client-node"|import\("@kubernetes\/client-node"\)/m.test(
        readFileSync(path, "utf8"),
      ),
    );
    const atOnce = sources.filter((path) =>
      /^import (?!type )[^;]*"@kubernetes\/client-node"/m.test(readFileSync(path, "utf8")),
    );

    expect(loading).toEqual(["common/kube/connection.ts"]);
    expect(atOnce).toEqual([]);
  });

  it("is not 2.0.0, which kills every watch after 30 s", () => {
    const lock: unknown = JSON.parse(readFileSync("package-lock.json", "utf8"));

    expect(lock).toMatchObject({ packages: { "node_modules/@kubernetes/client-node": { version: "2.0.1" } } });
  });
});
