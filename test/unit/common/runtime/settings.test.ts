import { describe, expect, it } from "vitest";
import {
  addressSetting,
  choiceSetting,
  countSetting,
  describeSettings,
  durationSetting,
  optionalPath,
  optionalText,
  readSettings,
  requiredText,
  type SettingsInput,
  switchSetting,
  textSetting,
  variableOf,
} from "../../../../common/runtime/settings.ts";

const WAIT = durationSetting({ name: "wait", description: "how long" }, { min: 10, max: 60_000 }, "5s");
const ALL = {
  given: requiredText({ name: "name", description: "a name" }),
  note: optionalText({ name: "some-note", description: "a note" }),
  file: textSetting({ name: "file", description: "a file" }, "/etc/file"),
  root: optionalPath({ name: "root", description: "a folder" }),
  colour: choiceSetting({ name: "colour", description: "a colour" }, ["red", "green"], "red"),
  isVerbose: switchSetting({ name: "verbose", description: "say more" }),
  waitMs: WAIT,
  most: countSetting({ name: "most", description: "how many" }, { min: 1, max: 100 }, "50"),
  listen: addressSetting({ name: "listen", description: "where" }, "127.0.0.1:80"),
};

function read(argv: readonly string[], env: SettingsInput["env"] = {}) {
  return readSettings(ALL, { argv: ["--name=x", ...argv], env });
}

function problems(argv: readonly string[], env: SettingsInput["env"] = {}): readonly string[] {
  try {
    read(argv, env);
    return [];
  } catch (error) {
    return error instanceof Error
      ? error.message
          .split("\n")
          .slice(1)
          .map((line) => line.trim())
      : [String(error)];
  }
}

function countProblem(text: string): string {
  return `--most (or MOORING_MOST) is "${text}", must be a number from 1 to 100`;
}

describe("settings", () => {
  it("have their defaults", () => {
    const values = read([]);

    expect(values).toEqual({
      given: "x",
      note: undefined,
      file: "/etc/file",
      root: undefined,
      colour: "red",
      isVerbose: false,
      waitMs: 5_000,
      most: 50,
      listen: { host: "127.0.0.1", port: 80 },
    });
    expect(Object.isFrozen(values)).toBe(true);
  });

  it.each([
    { name: "with a space", argv: ["--some-note", "hello"], expected: "hello" },
    { name: "with an equals sign", argv: ["--some-note=hello"], expected: "hello" },
    { name: "with an equals sign in the value", argv: ["--some-note=a=b"], expected: "a=b" },
    { name: "twice, the last counts", argv: ["--some-note=a", "--some-note=b"], expected: "b" },
    { name: "empty, as if it were not given", argv: ["--some-note="], expected: undefined },
    { name: "with a value that begins with a dash", argv: ["--some-note=-x"], expected: "-x" },
  ])("are given by a flag $name", ({ argv, expected }) => {
    expect(read(argv).note).toBe(expected);
  });

  it("are given by the environment, and the flag wins", () => {
    const env = { MOORING_SOME_NOTE: "from env", MOORING_COLOUR: "green" };

    const { note, colour } = read(["--some-note=from flag"], env);

    expect([note, colour]).toEqual(["from flag", "green"]);
  });

  it.each([
    { argv: ["--verbose"], expected: true },
    { argv: ["--verbose=true"], expected: true },
    { argv: ["--verbose=false"], expected: false },
    { argv: [], expected: false },
  ])("switch by $argv: $expected", ({ argv, expected }) => {
    expect(read(argv).isVerbose).toBe(expected);
  });

  it.each([
    { text: "10ms", ms: 10 },
    { text: "1.5s", ms: 1_500 },
    { text: "1m", ms: 60_000 },
  ])("take $text for a duration", ({ text, ms }) => {
    expect(read(["--wait", text]).waitMs).toBe(ms);
  });

  it.each([
    { text: "localhost:0", host: "localhost", port: 0 },
    { text: "[::1]:8080", host: "::1", port: 8080 },
    { text: "0.0.0.0:65535", host: "0.0.0.0", port: 65_535 },
    { text: ":9808", host: "", port: 9_808 },
  ])("take $text for an address", ({ text, host, port }) => {
    expect(read(["--listen", text]).listen).toEqual({ host, port });
  });

  it.each([
    { name: "a flag that does not exist", argv: ["--other=1"], expected: ["unknown flag --other"] },
    { name: "a negated switch", argv: ["--no-verbose"], expected: ["unknown flag --no-verbose"] },
    { name: "a short flag", argv: ["-v"], expected: ["unknown flag -v"] },
    { name: "a word that is no flag", argv: ["word"], expected: ['unexpected argument "word"'] },
    { name: "a word behind two dashes", argv: ["--", "word"], expected: ['unexpected argument "word"'] },
    { name: "a flag without its value at the end", argv: ["--file"], expected: ["--file needs a value"] },
    {
      name: "a flag without its value before another",
      argv: ["--file", "--verbose"],
      expected: ["--file needs a value"],
    },
    {
      name: "a switch that is neither",
      argv: ["--verbose=maybe"],
      expected: ['--verbose (or MOORING_VERBOSE) is "maybe", must be true or false'],
    },
    {
      name: "a choice that is none",
      argv: ["--colour=blue"],
      expected: ['--colour (or MOORING_COLOUR) is "blue", must be one of red, green'],
    },
    { name: "a count that is too small", argv: ["--most=0"], expected: [countProblem("0")] },
    { name: "a count that is too large", argv: ["--most=101"], expected: [countProblem("101")] },
    { name: "a count with a fraction", argv: ["--most=1.5"], expected: [countProblem("1.5")] },
    { name: "a count below zero", argv: ["--most=-1"], expected: [countProblem("-1")] },
    {
      name: "a duration without a unit",
      argv: ["--wait=5"],
      expected: ['--wait (or MOORING_WAIT) is "5", must be a duration like 250ms, 30s or 5m'],
    },
    {
      name: "a duration that is too long",
      argv: ["--wait=2h"],
      expected: ["--wait (or MOORING_WAIT) is 2h, must be 10 ms to 60000 ms"],
    },
    {
      name: "a duration that is too short",
      argv: ["--wait=9ms"],
      expected: ["--wait (or MOORING_WAIT) is 9ms, must be 10 ms to 60000 ms"],
    },
    {
      name: "an address without a port",
      argv: ["--listen=::1"],
      expected: ['--listen (or MOORING_LISTEN) is "::1", must be an address like 127.0.0.1:8080'],
    },
    {
      name: "a port that is too large",
      argv: ["--listen=a:65536"],
      expected: ['--listen (or MOORING_LISTEN) is "a:65536", must be an address like 127.0.0.1:8080'],
    },
    {
      name: "a relative path",
      argv: ["--root=a/b"],
      expected: ['--root (or MOORING_ROOT) is "a/b", must be an absolute path without . and ..'],
    },
    { name: "a required text that is empty", argv: ["--name="], expected: ["--name (or MOORING_NAME) is missing"] },
  ])("refuse $name", ({ argv, expected }) => {
    expect(problems(argv)).toEqual(expected);
  });

  it("refuse a bad value in the environment, and name the variable", () => {
    expect(problems([], { MOORING_WAIT: "soon" })).toEqual([
      '--wait (or MOORING_WAIT) is "soon", must be a duration like 250ms, 30s or 5m',
    ]);
  });

  it("report all problems in one error that is not retriable", () => {
    expect(() => readSettings(ALL, { argv: ["--other", "--wait=x"], env: {} })).toThrow(
      expect.objectContaining({
        code: "config-invalid",
        retriable: false,
        message: expect.stringMatching(/other[\s\S]*name[\s\S]*wait/),
      }),
    );
  });

  it("report broken rules together with bad values", () => {
    const rules = [() => ["the whole is wrong"]];

    expect(() => readSettings({ waitMs: WAIT }, { argv: [], env: {} }, rules)).toThrow("the whole is wrong");
    expect(() => readSettings({ waitMs: WAIT }, { argv: ["--wait=x"], env: {} }, rules)).toThrow(
      /wait[\s\S]*the whole is wrong/,
    );
  });

  it("leave out a rule about a setting that is bad in itself", () => {
    const rules = [({ waitMs }: { readonly waitMs: number }) => [`it is ${waitMs}`]];

    expect(() => readSettings({ waitMs: WAIT }, { argv: ["--wait=x"], env: {} }, rules)).toThrow("--wait");
    expect(() => readSettings({ waitMs: WAIT }, { argv: ["--wait=x"], env: {} }, rules)).not.toThrow("it is");
  });
});

describe("describeSettings", () => {
  it("shows each flag with its default, switches without", () => {
    const text = describeSettings({ colour: ALL.colour, isVerbose: ALL.isVerbose });

    expect(text.split("\n").slice(0, 2)).toEqual([
      "  --colour             a colour (red, green) [red]",
      "  --verbose            say more",
    ]);
    expect(variableOf("log-level")).toBe("MOORING_LOG_LEVEL");
  });
});
