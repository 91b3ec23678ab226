import { at, textAt } from "../engine/api/json.ts";
import { CLAIMS, claimBody, eventBody, get, idOf, LEASES, leaseBody, merge, post } from "./requests.ts";
import type { Session } from "./session.ts";
import { claimView, firstOf, leaseView, listView, refusalView } from "./views.ts";

export async function leases(session: Session): Promise<void> {
  const made = await session.step("a Lease is made", post(LEASES, leaseBody("a")), leaseView);
  await session.step("it is there already", post(LEASES, leaseBody("b")), refusalView);
  const taken = { metadata: idOf(made), spec: { ...leaseBody("b").spec, leaseTransitions: 1 } };
  await session.step("it is taken", merge(`${LEASES}/mooring`, taken), leaseView);
  await session.step("by two at once", merge(`${LEASES}/mooring`, taken), refusalView);
  await session.step("it is read", get(`${LEASES}/mooring`), leaseView);
  await session.step("another one is read", get(`${LEASES}/other`), refusalView);
}

export async function lists(session: Session): Promise<void> {
  for (const name of ["one", "two"])
    await session.step(`claim ${name} is made`, post(CLAIMS, claimBody(name)), claimView);
  const page = await session.step("a page of a list", get(`${CLAIMS}?limit=2`), listView);
  const next = encodeURIComponent(textAt(page.body, "metadata", "continue"));
  await session.step("the next page", get(`${CLAIMS}?limit=2&continue=${next}`), (answer) => [
    listView(answer),
    textAt(answer.body, "metadata", "resourceVersion") === textAt(page.body, "metadata", "resourceVersion"),
  ]);
  await session.step("a page of nothing known", get(`${CLAIMS}?limit=2&continue=nonsense`), (answer) => answer.status);
  await session.step("a list from the cache", get(`${CLAIMS}?resourceVersion=0`), listView);
  await session.step("a list of one by name", get(`${CLAIMS}?fieldSelector=metadata.name%3Done`), listView);
  await session.step("a list by a label", get(`${CLAIMS}?labelSelector=role%3Dleader`), listView);
  const version = textAt(page.body, "metadata", "resourceVersion");
  const known = `resourceVersion=${version}&resourceVersionMatch=NotOlderThan`;
  await session.step("a list not older than what is known", get(`${CLAIMS}?limit=1&${known}`), listView);
  const future = "resourceVersion=900000000&resourceVersionMatch=NotOlderThan";
  await session.step("a list not older than what is to come", get(`${CLAIMS}?limit=1&${future}`), refusalView);
  const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
  const metadata = { ...get(`${CLAIMS}?limit=1`), headers: { accept } };
  await session.step("a list of identities", metadata, (answer) => [
    listView(answer),
    answer.body.kind ?? "",
    at(firstOf(answer), "spec") ?? null,
  ]);
}

export async function watches(session: Session): Promise<void> {
  const start = await session.step("a list to begin with", get(LEASES), listView);
  const from = textAt(start.body, "metadata", "resourceVersion");
  const query = "watch=true&allowWatchBookmarks=true&timeoutSeconds=60";
  const lease = `${LEASES}/watched`;
  const watched = { ...leaseBody("w"), metadata: { name: "watched" } };
  await session.step("a Lease for a watch is made", post(LEASES, watched), leaseView);
  await session.step("it changes", merge(lease, { spec: { holderIdentity: "x" } }), leaseView);
  await session.step("it changes its label", merge(lease, { metadata: { labels: { role: "leader" } } }), leaseView);
  await session.step("it loses its label", merge(lease, { metadata: { labels: { role: null } } }), leaseView);
  await session.step("it goes", { method: "DELETE", path: lease, headers: {} }, (answer) => answer.status);
  await session.see("a watch from there", `${LEASES}?${query}&resourceVersion=${from}`, 5);
  await session.see(
    "a watch of a selection",
    `${LEASES}?${query}&resourceVersion=${from}&labelSelector=role%3Dleader`,
    2,
  );
  const whole = `${query}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
  await session.see("a list as a stream", `${LEASES}?${whole}`, 2);
}

export async function rest(session: Session): Promise<void> {
  await session.step("the version", get("/version"), ({ status, body }) => [
    status,
    /^\d+/.test(textAt(body, "major")),
  ]);
  await session.step("the cluster's own namespace", get("/api/v1/namespaces/kube-system"), ({ status, body }) => [
    status,
    textAt(body, "metadata", "uid") !== "",
  ]);
  await session.step(
    "an event",
    post("/apis/events.k8s.io/v1/namespaces/default/events", eventBody()),
    ({ status }) => status,
  );
  await session.step("each answer has a date", get(CLAIMS), ({ headers }) =>
    /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(headers.date ?? ""),
  );
}
