import {
  apply,
  CLAIMS,
  CONDITION,
  claimBody,
  condition,
  get,
  head,
  idOf,
  merge,
  NOTE,
  post,
  statusBody,
} from "./requests.ts";
import type { Session } from "./session.ts";
import { claimView, refusalView } from "./views.ts";

const CLAIM = `${CLAIMS}/data`;

export async function creation(session: Session): Promise<void> {
  const body = claimBody("data");
  await session.step("a claim is made", post(CLAIMS, body), claimView);
  await session.step("a claim is made again", post(CLAIMS, body), refusalView);
  await session.step(
    "a claim is bound by its status",
    merge(`${CLAIM}/status`, { status: { phase: "Bound" } }),
    claimView,
  );
  await session.step(
    "what the status says of the spec is ignored",
    merge(`${CLAIM}/status`, { spec: { volumeName: "x" } }),
    claimView,
  );
  await session.step("a write that changes nothing", merge(CLAIM, { metadata: {} }), session.isSame);
  await session.step("a claim is read", get(CLAIM), claimView);
}

export async function applies(session: Session): Promise<void> {
  const status = `${CLAIM}/status`;
  const known = await session.read();
  const first = await session.step("the status is applied", apply(status, statusBody(known)), claimView);
  await session.step("the same body again: a conflict", apply(status, statusBody(known)), refusalView);
  await session.step(
    "the same fields on the new state: no write",
    apply(status, statusBody(idOf(first))),
    session.isSame,
  );
  const changed = statusBody(idOf(first), { status: "False", note: undefined });
  await session.step("what an apply leaves out goes", apply(status, changed), claimView);
  const next = await session.read();
  await session.step("an apply of nothing removes all that was ours", apply(status, { ...head(next) }), claimView);
  const again = await session.read();
  await session.step("and it comes back", apply(status, statusBody(again)), claimView);
  await session.step("an apply to no state", apply(status, statusBody({ uid: again.uid }, { note: "x" })), claimView);
}

export async function owners(session: Session): Promise<void> {
  const status = `${CLAIM}/status`;
  const foreign = { metadata: { annotations: { [NOTE]: "copied" } } };
  await session.step("another manager takes an annotation", merge(CLAIM, foreign, "thief"), claimView);
  const known = await session.read();
  await session.step(
    "an apply without force is refused",
    apply(status, statusBody(known), { isForced: false }),
    refusalView,
  );
  await session.step("with force it takes it back", apply(status, statusBody(known)), claimView);
  await session.step(
    "a merge patch takes an annotation off",
    merge(status, { metadata: { annotations: { [NOTE]: null } } }),
    claimView,
  );
  const upstream = { status: { conditions: [condition("Unused", "True"), condition(CONDITION, "True")] } };
  await session.step("an update writes all conditions", merge(status, upstream, "kube-controller-manager"), claimView);
  const both = await session.read();
  await session.step(
    "an apply leaves others' conditions",
    apply(status, statusBody(both, { status: "False" })),
    claimView,
  );
}

export async function preconditions(session: Session): Promise<void> {
  const status = `${CLAIM}/status`;
  const { uid, resourceVersion } = await session.read();
  const other = "11111111-2222-3333-4444-555555555555";
  await session.step("an apply for another UID", apply(status, statusBody({ uid: other })), refusalView);
  await session.step(
    "an apply for another UID and state",
    apply(status, statusBody({ uid: other, resourceVersion: "1" })),
    refusalView,
  );
  await session.step("a merge patch for another UID", merge(CLAIM, { metadata: { uid: other } }), refusalView);
  await session.step(
    "a merge patch for another UID and state",
    merge(CLAIM, { metadata: { uid: other, resourceVersion: "1" } }),
    refusalView,
  );
  await session.step(
    "a merge patch for another state",
    merge(CLAIM, { metadata: { uid, resourceVersion: "1" } }),
    refusalView,
  );
  const labels = { labels: { role: "leader" } };
  await session.step("a label is put on", merge(CLAIM, { metadata: { uid, resourceVersion, ...labels } }), claimView);
  await session.step("and taken off", merge(CLAIM, { metadata: { uid, labels: { role: null } } }), claimView);
  await session.step(
    "and taken off again",
    merge(CLAIM, { metadata: { uid, labels: { role: null } } }),
    session.isSame,
  );
}

export async function absent(session: Session): Promise<void> {
  const uid = "11111111-2222-3333-4444-555555555555";
  const body = statusBody({ uid }, { name: "absent" });
  await session.step("an apply to no object", apply(`${CLAIMS}/absent`, body), refusalView);
  await session.step("an apply to the status of no object", apply(`${CLAIMS}/absent/status`, body), refusalView);
  await session.step(
    "an apply without a UID to the status of no object",
    apply(`${CLAIMS}/absent/status`, statusBody({}, { name: "absent" })),
    refusalView,
  );
  await session.step("a merge patch of no object", merge(`${CLAIMS}/absent`, { metadata: { uid } }), refusalView);
  await session.step("no object is read", get(`${CLAIMS}/absent`), refusalView);
  await session.step("a group that is not served", get("/apis/example.org/v1/things/a"), refusalView);
  await session.step("a body that is no JSON", { ...post(CLAIMS, {}), body: "{" }, (answer) => answer.status);
}
