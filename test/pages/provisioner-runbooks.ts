import { readFileSync } from "node:fs";

const RULES = new URL("../../manifests/components/provisioner-monitoring/rules.yaml", import.meta.url);

/** The runbooks of the provisioner's alerts, by their names. Their commands need a cluster with a provisioner. */
export const PROVISIONER_RUNBOOKS: readonly string[] = [
  ...readFileSync(RULES, "utf8").matchAll(/^\s*- alert: (\w+)$/gm),
].map(([, name]) => name ?? "");
