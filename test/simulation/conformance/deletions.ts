import { at, textAt } from "../engine/api/json.ts";
import type { Json } from "../engine/api/objects.ts";
import { apply, CLAIMS, claimBody, get, idOf, merge, post, statusBody } from "./requests.ts";
import type { ServerAnswer } from "./server-under-test.ts";
import type { Session } from "./session.ts";
import { refusalView } from "./views.ts";

const FINALIZER = "kubernetes.io/pvc-protection";
const CLAIM = `${CLAIMS}/deleted`;
const DELETE = { method: "DELETE", path: CLAIM, headers: {} } as const;

/** A deleted claim stays until its last finalizer is removed. */
export async function deletions(session: Session): Promise<void> {
  const start = await session.step("a claim that will be deleted", post(CLAIMS, claimBody("deleted")), deletionView);
  const from = textAt(start.body, "metadata", "resourceVersion");
  await session.step("its deletion is asked for", DELETE, deletionView);
  await session.step("and again", DELETE, deletionView);
  await session.step(
    "its deletion is taken back",
    merge(CLAIM, { metadata: { deletionTimestamp: null } }),
    deletionView,
  );
  const known = idOf(await session.step("it is there still", get(CLAIM), deletionView));
  await session.step(
    "its status is applied",
    apply(`${CLAIM}/status`, statusBody(known, { name: "deleted" })),
    deletionView,
  );
  const more = { metadata: { finalizers: [FINALIZER, "example.org/late"] } };
  await session.step("a finalizer is added", merge(CLAIM, more), refusalView);
  const outdated = { metadata: { finalizers: null, resourceVersion: "1" } };
  await session.step("its finalizer is taken away from another state", merge(CLAIM, outdated), refusalView);
  const freed = { metadata: { finalizers: null } };
  await session.step("its finalizer is taken away with the status", merge(`${CLAIM}/status`, freed), deletionView);
  await session.step("it is gone", get(CLAIM), refusalView);
  const query = `watch=true&fieldSelector=metadata.name%3Ddoomed&timeoutSeconds=60&resourceVersion=${from}`;
  await session.see("a watch of all that", `${CLAIMS}?${query}`, 3);
}

/** A claim without finalizers goes at once. */
export async function freeDeletions(session: Session): Promise<void> {
  await session.step("a claim that is freed first", post(CLAIMS, claimBody("deleted")), deletionView);
  await session.step("its finalizer is taken away", merge(CLAIM, { metadata: { finalizers: [] } }), deletionView);
  for (const preconditions of [{ uid: "another" }, { resourceVersion: "1" }]) {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", preconditions });
    const [field] = Object.keys(preconditions);
    await session.step(`it stays for another ${field}`, { ...DELETE, headers, body }, refusalStatus);
  }
  await session.step("it goes at once", DELETE, ({ status }) => status);
  await session.step("and is not found", get(CLAIM), refusalView);
}

function refusalStatus({ status, body }: ServerAnswer): Json {
  return [status, textAt(body, "reason")];
}

function deletionView({ status, body }: ServerAnswer): Json {
  const metadata = at(body, "metadata");
  return [
    status,
    textAt(body, "kind"),
    at(metadata, "finalizers") ?? null,
    at(metadata, "deletionTimestamp") !== undefined,
    at(metadata, "deletionGracePeriodSeconds") ?? null,
  ];
}
