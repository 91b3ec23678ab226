import { describe, expect, it } from "vitest";
import type { KubeEvent } from "../../../common/kube/kube-event.ts";
import { createRecorder } from "../../../provisioner/recorder.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { claimWith, volumeWith } from "./objects.ts";

function recording() {
  const clock = createFakeClock();
  const events: KubeEvent[] = [];
  const recorder = createRecorder({ clock, events: { emit: (event) => void events.push(event) }, nowMs: () => 0 });
  return { clock, recorder, notes: () => events.map(({ note }) => note) };
}

describe("the recorder", () => {
  it("emits an equal event once, however often it occurs", () => {
    const { recorder, notes } = recording();

    for (let time = 0; time < 5; time += 1) recorder.volume(volumeWith(), "not-deleted", "in use");

    expect(notes()).toEqual(["in use"]);
  });

  it("emits an event whose text always changes at most once a minute", () => {
    const { clock, recorder, notes } = recording();

    for (let second = 0; second < 120; second += 1) {
      recorder.volume(volumeWith(), "not-deleted", `in use since ${second} s`);
      clock.pass(1_000);
    }

    expect(notes()).toEqual(["in use since 0 s", "in use since 60 s"]);
  });

  it("emits a new transition, and one of another kind or object, at once", () => {
    const { recorder, notes } = recording();

    recorder.claim(claimWith(), "not-provisioned", "full");
    recorder.claim(claimWith(), "provisioning", "begun");
    recorder.claim(claimWith({ uid: "other" }), "not-provisioned", "full");
    recorder.forget(claimWith().uid);
    recorder.claim(claimWith(), "not-provisioned", "full");

    expect(notes()).toEqual(["full", "begun", "full", "full"]);
  });
});
