import { describe, expect, it } from "vitest";
import { AGGREGATOR_ALLOWED, AGGREGATOR_FORBIDDEN } from "./aggregator-arrows.ts";
import { lintAll } from "./linted.ts";
import { PROVISIONER_ALLOWED, PROVISIONER_FORBIDDEN } from "./provisioner-arrows.ts";

/** The usual ways to name another module. Each returns one line; `n` keeps the names apart. */
const forms = {
  import: (path: string, n: number) => `import { a${n} } from "${path}";`,
  "import type": (path: string, n: number) => `import type { A${n} } from "${path}";`,
  "export from": (path: string, n: number) => `export { b${n} } from "${path}";`,
  "import()": (path: string, n: number) => `export const c${n} = await import("${path}");`,
} as const;

const rareForms = {
  "import for its effect": (path: string) => `import "${path}";`,
  "import of a default": (path: string, n: number) => `import i${n} from "${path}";`,
  "import of a namespace": (path: string, n: number) => `import * as j${n} from "${path}";`,
  "import of a type among values": (path: string, n: number) => `import { type K${n} } from "${path}";`,
  "import with attributes": (path: string, n: number) => `import l${n} from "${path}" with { type: "json" };`,
  "export *": (path: string) => `export * from "${path}";`,
  "export type from": (path: string, n: number) => `export type { B${n} } from "${path}";`,
  "import = require()": (path: string, n: number) => `import d${n} = require("${path}");`,
} as const;

/** Forms that noRestrictedImports does not look into: .ci/lint/imports.grit denies them wherever they point. */
const blindForms = {
  "import() of a template": (path: string, n: number) => `export const e${n} = await import(\`${path}\`);`,
  "import() of a sum": (path: string, n: number) => `export const f${n} = await import("${path}" + "");`,
  "import() of a variable": (path: string, n: number) => `export const g${n} = await import(path${path.length + n});`,
  "an import type in an expression": (path: string, n: number) => `export type C${n} = import("${path}").C;`,
  "typeof import()": (path: string, n: number) => `export type D${n} = typeof import("${path}");`,
  "require()": (path: string, n: number) => `export const h${n} = require("${path}");`,
} as const;

const otherWing = { agent: "aggregator", aggregator: "agent" } as const;

function wingArrows(
  wing: "agent" | "aggregator",
): readonly { readonly from: string; readonly to: readonly string[] }[] {
  const other = otherWing[wing];
  return [
    {
      from: `${wing}/core/x.ts`,
      to: [
        "../sources/x.ts",
        "../sinks/x.ts",
        `../${wing}.ts`,
        "../main.ts",
        "../config.ts",
        "../../common/kube/x.ts",
        "../../common/runtime/clock.ts",
        "../../common/storage-other/x.ts",
        `../../${other}/core/x.ts`,
        "../../cli/x.ts",
        "../../test/fakes/x.ts",
        "node:fs",
        "node:fs/promises",
        "pino",
        "valibot",
        "@kubernetes/client-node",
      ],
    },
    {
      from: `${wing}/sources/x.ts`,
      to: [
        "../sinks/x.ts",
        `../${wing}.ts`,
        "../main.ts",
        "../config.ts",
        `../../${other}/core/x.ts`,
        `../../${other}/sources/x.ts`,
        "../../cli/x.ts",
        "../../test/fakes/x.ts",
        "commander",
      ],
    },
    {
      from: `${wing}/sinks/x.ts`,
      to: [
        "../sources/x.ts",
        `../${wing}.ts`,
        "../main.ts",
        "../config.ts",
        `../../${other}/core/x.ts`,
        `../../${other}/sinks/x.ts`,
        "../../cli/x.ts",
        "../../test/fakes/x.ts",
        "commander",
        "koffi",
        "systeminformation",
      ],
    },
    {
      from: `${wing}/${wing}.ts`,
      to: [
        "./main.ts",
        `../${other}/${other}.ts`,
        `../${other}/core/x.ts`,
        "../cli/x.ts",
        "../test/fakes/x.ts",
        "undici",
      ],
    },
    {
      from: wing === "agent" ? "agent/config.ts" : "aggregator/aggregator.ts",
      to: ["./main.ts", `../${other}/config.ts`, "../cli/x.ts", "../test/fakes/x.ts"],
    },
    {
      from: `${wing}/main.ts`,
      to: [
        "./core/x.ts",
        "./sources/x.ts",
        "./sinks/x.ts",
        "./other.ts",
        `../${other}/${other}.ts`,
        `../${other}/main.ts`,
        "../cli/x.ts",
        "../test/fakes/x.ts",
        "pino",
      ],
    },
    { from: `${wing}/new-folder/x.ts`, to: ["../core/x.ts", `../../${other}/core/x.ts`, "pino"] },
  ];
}

const forbiddenArrows = [
  {
    from: "common/storage/x.ts",
    to: [
      "../runtime/clock.ts",
      "../kube/x.ts",
      "../../agent/core/x.ts",
      "../../aggregator/core/x.ts",
      "../../cli/x.ts",
      "../../test/fakes/x.ts",
      "node:fs",
      "pino",
    ],
  },
  {
    from: "common/runtime/x.ts",
    to: [
      "../kube/x.ts",
      "../storage/x.ts",
      "../../agent/agent.ts",
      "../../aggregator/aggregator.ts",
      "../../cli/x.ts",
      "../../test/fakes/x.ts",
      "@kubernetes/client-node",
    ],
  },
  {
    from: "common/kube/x.ts",
    to: [
      "../storage/x.ts",
      "../../agent/sources/x.ts",
      "../../aggregator/sinks/x.ts",
      "../../cli/x.ts",
      "../../test/fakes/x.ts",
      "pino",
      "systeminformation",
    ],
  },
  { from: "common/x.ts", to: ["./storage/x.ts", "../agent/core/x.ts", "pino"] },
  ...wingArrows("agent"),
  ...wingArrows("aggregator"),
  {
    from: "agent/enforcement/x.ts",
    to: [
      "../agent.ts",
      "../observer.ts",
      "../main.ts",
      "../config.ts",
      "../../aggregator/core/x.ts",
      "../../cli/x.ts",
      "../../test/fakes/x.ts",
      "undici",
    ],
  },
  {
    from: "aggregator/writing/x.ts",
    to: [
      "../aggregator.ts",
      "../reconciler.ts",
      "../main.ts",
      "../config.ts",
      "../../agent/core/x.ts",
      "../../cli/x.ts",
      "../../test/fakes/x.ts",
      "undici",
    ],
  },
  {
    from: "agent/core/affinity/x.ts",
    to: [
      "../../sources/x.ts",
      "../../sinks/x.ts",
      "../../agent.ts",
      "../../../common/kube/x.ts",
      "../../../common/runtime/clock.ts",
      "../../../aggregator/core/x.ts",
      "../../../test/fakes/x.ts",
      "node:fs",
      "valibot",
    ],
  },
  { from: "agent/core/y.ts", to: ["../enforcement/x.ts"] },
  { from: "agent/sources/y.ts", to: ["../enforcement/x.ts"] },
  { from: "agent/sinks/y.ts", to: ["../enforcement/x.ts"] },
  {
    from: "aggregator/certificates/x.ts",
    to: [
      "../aggregator.ts",
      "../main.ts",
      "../config.ts",
      "../sources/x.ts",
      "../sinks/x.ts",
      "../writing/x.ts",
      "../../agent/core/x.ts",
      "../../cli/x.ts",
      "../../test/fakes/x.ts",
      "undici",
    ],
  },
  { from: "aggregator/core/z.ts", to: ["../certificates/x.ts"] },
  {
    from: "aggregator/core/claims/x.ts",
    to: ["../../claims/x.ts", "../../sources/x.ts", "../../../common/kube/x.ts", "../../../agent/core/x.ts", "pino"],
  },
  { from: "aggregator/sources/z.ts", to: ["../certificates/x.ts"] },
  { from: "aggregator/core/y.ts", to: ["../writing/x.ts"] },
  { from: "aggregator/sources/y.ts", to: ["../writing/x.ts"] },
  { from: "aggregator/sinks/y.ts", to: ["../writing/x.ts"] },
  {
    from: "cli/x.ts",
    to: [
      "../agent/agent.ts",
      "../agent/core/x.ts",
      "../aggregator/aggregator.ts",
      "../aggregator/core/x.ts",
      "../test/fakes/x.ts",
      "pino",
    ],
  },
  {
    from: "cli/uninstall/x.ts",
    to: ["../../agent/sinks/x.ts", "../../aggregator/core/x.ts", "../x.ts", "pino", "commander"],
  },
  { from: "test/judge/x.ts", to: ["../../common/storage/x.ts", "../simulation/world/x.ts", "valibot"] },
  ...AGGREGATOR_FORBIDDEN,
  ...PROVISIONER_FORBIDDEN,
];

const allowedArrows = [
  ...AGGREGATOR_ALLOWED,
  { from: "test/judge/x.ts", to: ["./y.ts"] },
  { from: "common/storage/x.ts", to: ["./y.ts", "./part/y.ts", "valibot"] },
  { from: "common/runtime/x.ts", to: ["./clock.ts", "node:fs", "node:fs/promises", "pino", "prom-client", "koffi"] },
  {
    from: "common/kube/x.ts",
    to: [
      "./y.ts",
      "../runtime/clock.ts",
      "node:tls",
      "node:fs/promises",
      "undici",
      "valibot",
      "chokidar",
      "@kubernetes/client-node",
    ],
  },
  ...["agent", "aggregator"].flatMap((wing) => [
    { from: `${wing}/core/x.ts`, to: ["./y.ts", "../../common/storage/y.ts"] },
    ...["sources", "sinks"].map((folder) => ({
      from: `${wing}/${folder}/x.ts`,
      to: [
        "./y.ts",
        "../core/y.ts",
        "../../common/storage/y.ts",
        "../../common/kube/y.ts",
        "../../common/runtime/clock.ts",
        "node:fs",
        "node:fs/promises",
        "undici",
        "valibot",
      ],
    })),
    {
      from: `${wing}/${wing}.ts`,
      to: [
        "./config.ts",
        "./core/y.ts",
        "./sources/y.ts",
        "./sinks/y.ts",
        "../common/kube/y.ts",
        "node:path",
        "node:fs/promises",
      ],
    },
    {
      from: `${wing}/main.ts`,
      to: [`./${wing}.ts`, "../common/runtime/y.ts", "node:os", "node:fs/promises"],
    },
  ]),
  { from: "agent/main.ts", to: ["./config.ts", "./dry-run.ts"] },
  { from: "aggregator/main.ts", to: ["./settings/config.ts"] },
  { from: "agent/core/affinity/x.ts", to: ["./y.ts", "../y.ts", "../../../common/storage/y.ts"] },
  { from: "aggregator/core/claims/x.ts", to: ["./y.ts", "../y.ts", "../nodes/y.ts", "../../../common/storage/y.ts"] },
  { from: "agent/sources/x.ts", to: ["koffi", "systeminformation"] },
  { from: "agent/agent.ts", to: ["./enforcement/y.ts"] },
  {
    from: "agent/enforcement/x.ts",
    to: ["./y.ts", "../core/affinity/y.ts", "../sources/y.ts", "../sinks/y.ts", "../../common/kube/y.ts"],
  },
  { from: "aggregator/aggregator.ts", to: ["./writing/y.ts", "./certificates/y.ts"] },
  {
    from: "aggregator/certificates/x.ts",
    to: [
      "./y.ts",
      "../core/y.ts",
      "../../common/kube/y.ts",
      "../../common/storage/y.ts",
      "node:crypto",
      "valibot",
      "asn1js",
    ],
  },
  {
    from: "aggregator/writing/x.ts",
    to: ["./y.ts", "../core/y.ts", "../sources/y.ts", "../sinks/y.ts", "../../common/kube/y.ts", "node:os"],
  },
  {
    from: "cli/x.ts",
    to: ["./y.ts", "./part/y.ts", "../common/storage/y.ts", "node:util", "node:fs/promises", "commander", "valibot"],
  },
  {
    from: "cli/uninstall/x.ts",
    to: ["./y.ts", "../../common/storage/y.ts", "../../common/kube/y.ts", "node:fs", "valibot"],
  },
  ...PROVISIONER_ALLOWED,
  { from: "test/unit/agent/x.test.ts", to: ["../../../agent/main.ts", "../../../.ci/totals.mjs", "../../fakes/x.ts"] },
];

/** Spellings of `agent/sources/x.ts`, seen from `agent/core`, that look like a path inside an allowed folder. */
const detours = [
  "./../sources/x.ts",
  "././../sources/x.ts",
  "./sub/../../sources/x.ts",
  ".//..//sources/x.ts",
  "../core/../sources/x.ts",
  "../../common/storage/../../agent/sources/x.ts",
  "../../common/storage/../kube/x.ts",
  "./%2e%2e/sources/x.ts",
  "./\\x2e./sources/x.ts",
  "./a\\\\..\\\\..\\\\sources/x.ts",
  "/agent/sources/x.ts",
  "file:///agent/sources/x.ts",
  "#agent/sources/x.ts",
  "mooring/agent/sources/x.ts",
];

type Form = (path: string, n: number) => string;
interface Arrow {
  readonly from: string;
  readonly to: readonly string[];
}

/** One row for each arrow and form. */
function rowsOf(arrows: readonly Arrow[], among: Readonly<Record<string, Form>>) {
  const targets = arrows.flatMap(({ from, to }) => to.map((path) => ({ from, path })));
  return targets
    .flatMap((target) => Object.entries(among).map(([form, write]) => ({ ...target, form, write })))
    .map(({ from, path, form, write }, n) => ({ from, path, form, code: write(path, n) }));
}

/** Adds to each row the rules that Biome found broken in it. */
const rows = {
  forbidden: rowsOf(forbiddenArrows, forms),
  rare: rowsOf([{ from: "agent/core/rare.ts", to: ["../sources/x.ts", "node:fs"] }], rareForms),
  allowed: rowsOf(allowedArrows, forms),
  detours: rowsOf([{ from: "agent/core/detour.ts", to: detours }], forms),
  blind: rowsOf(
    ["agent/core/blind.ts", "agent/main.ts", "common/kube/blind.ts", "test/unit/blind.test.ts"].map((from) => ({
      from,
      to: ["./other.ts"],
    })),
    blindForms,
  ),
};
const all = Object.values(rows).flat();
const brokenRules = lintAll(all.map(({ from, code }) => ({ file: from, code })));

function brokenBy(row: (typeof all)[number]): readonly string[] {
  return brokenRules[all.indexOf(row)] ?? [];
}

const aboutDirection = (rule: string): boolean => rule === "noRestrictedImports" || rule.includes("import");

describe("import directions", () => {
  it.each([...rows.forbidden, ...rows.rare])("$from may not reach $path by $form", (row) => {
    const broken = brokenBy(row);

    expect(broken).toContain("noRestrictedImports");
  });

  it.each(rows.allowed)("$from may reach $path by $form", (row) => {
    const broken = brokenBy(row);

    expect(broken.filter(aboutDirection)).toEqual([]);
  });

  it.each(rows.detours)("the detour $path is refused in the form $form", (row) => {
    const broken = brokenBy(row);

    expect(broken.filter(aboutDirection)).not.toEqual([]);
  });

  it.each(rows.blind)("$form is refused in $from, because its direction cannot be checked", (row) => {
    const broken = brokenBy(row);

    expect(broken).toContainEqual(expect.stringContaining("so that the direction of the import can be checked"));
  });
});
