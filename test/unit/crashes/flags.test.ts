import { describe, expect, it } from "vitest";
import { HELP, readFlags } from "../../crashes/flags.ts";

describe("the flags of a campaign", () => {
  it("default to the size that the proof needs", () => {
    const { size, keep, help } = readFlags([]);

    expect(size).toEqual({
      seed: 1,
      rounds: 10,
      unmounts: 300,
      kills: 30,
      apiServerKills: 4,
      absences: 10,
      blackouts: 5,
    });
    expect([keep, help]).toEqual([undefined, false]);
  });

  it("change each number", () => {
    const argv = [
      "--seed",
      "9",
      "--rounds",
      "2",
      "--unmounts=20",
      "--kills",
      "0",
      "--api-kills",
      "1",
      "--keep",
      "there",
    ];

    const { size, keep } = readFlags([...argv, "--absences", "3", "--blackouts", "4"]);

    expect(size).toEqual({
      seed: 9,
      rounds: 2,
      unmounts: 20,
      kills: 0,
      apiServerKills: 1,
      absences: 3,
      blackouts: 4,
    });
    expect(keep).toBe("there");
  });

  it.each([
    { name: "an unknown option", argv: ["--speed", "1"] },
    { name: "a value that is no number", argv: ["--kills", "many"] },
    { name: "a negative number", argv: ["--kills=-1"] },
  ])("refuse $name, and say where help is", ({ argv }) => {
    expect(() => readFlags(argv)).toThrow("--help");
  });

  it.each([...HELP.matchAll(/--([a-z-]+) [NF]/g)].map(([, name]) => ({ name })))(
    "know --$name of the help",
    ({ name }) => {
      expect(() => readFlags([`--${name}`, "1"])).not.toThrow();
    },
  );
});
