/** Who may import what around the provisioner. */
interface Arrow {
  readonly from: string;
  readonly to: readonly string[];
}

export const PROVISIONER_FORBIDDEN: readonly Arrow[] = [
  {
    from: "provisioner/x.ts",
    to: [
      "./keeper/x.ts",
      "../agent/core/x.ts",
      "../aggregator/core/x.ts",
      "../cli/x.ts",
      "../test/fakes/x.ts",
      "undici",
    ],
  },
  { from: "provisioner/protocol.ts", to: ["./core/x.ts", "../common/storage/x.ts", "node:fs"] },
  {
    from: "provisioner/core/x.ts",
    to: [
      ...["../sources/x.ts", "../sinks/x.ts", "../provisioner.ts", "../config.ts", "../keeper/core/x.ts"],
      ...["../../common/kube/x.ts", "../../common/runtime/clock.ts", "../../common/mounts/x.ts"],
      ...["../../agent/core/x.ts", "node:fs", "valibot"],
    ],
  },
  {
    from: "provisioner/sources/x.ts",
    to: ["../sinks/x.ts", "../provisioner.ts", "../keeper/x.ts", "../../aggregator/sources/x.ts", "koffi"],
  },
  {
    from: "provisioner/sinks/x.ts",
    to: ["../sources/x.ts", "../provisioner.ts", "../keeper/x.ts", "../../agent/sinks/x.ts", "koffi"],
  },
  {
    from: "provisioner/keeper/x.ts",
    to: ["../core/x.ts", "../sinks/x.ts", "../provisioner.ts", "../../common/kube/x.ts", "../../cli/x.ts", "undici"],
  },
  {
    from: "provisioner/keeper/core/x.ts",
    to: ["../x.ts", "../../core/x.ts", "../../../common/kube/x.ts", "../../../common/runtime/clock.ts", "node:fs"],
  },
  { from: "agent/core/p.ts", to: ["../../provisioner/core/x.ts"] },
  { from: "aggregator/aggregator.ts", to: ["../provisioner/provisioner.ts"] },
  { from: "common/storage/p.ts", to: ["../../provisioner/core/x.ts"] },
  { from: "cli/p.ts", to: ["../provisioner/core/x.ts", "../provisioner/protocol.ts"] },
  { from: "cli/local/x.ts", to: ["../../provisioner/core/x.ts", "../uninstall/x.ts", "../../test/fakes/x.ts", "pino"] },
];

export const PROVISIONER_ALLOWED: readonly Arrow[] = [
  { from: "provisioner/x.ts", to: ["./core/y.ts", "./protocol.ts", "../common/kube/y.ts", "node:fs", "valibot"] },
  { from: "provisioner/protocol.ts", to: ["valibot"] },
  { from: "provisioner/core/x.ts", to: ["./y.ts", "../protocol.ts", "../../common/storage/y.ts"] },
  ...["sources", "sinks"].map((folder) => ({
    from: `provisioner/${folder}/x.ts`,
    to: ["./y.ts", "../core/y.ts", "../protocol.ts", "../../common/kube/y.ts", "node:net", "valibot"],
  })),
  {
    from: "provisioner/keeper/x.ts",
    to: ["./core/y.ts", "../protocol.ts", "../../common/mounts/y.ts", "../../common/runtime/y.ts", "node:fs", "koffi"],
  },
  {
    from: "provisioner/keeper/core/x.ts",
    to: ["./y.ts", "../../protocol.ts", "../../../common/mounts/core/y.ts", "../../../common/storage/y.ts"],
  },
  { from: "cli/local/x.ts", to: ["./y.ts", "../table.ts", "../../common/kube/y.ts", "commander", "valibot"] },
];
