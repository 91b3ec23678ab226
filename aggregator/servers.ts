import type { Listen, ListenAt, Route, ServingIdentity } from "../common/runtime/http-server.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { AggregatorConfig } from "./settings/config.ts";

/** What is served where. */
interface Offers {
  readonly logger: Logger;
  /** For callers on this machine, and through `kubectl port-forward`. */
  readonly local: readonly Route[];
  /** For everybody who can reach it. */
  readonly health: readonly Route[];
  /** For agents. */
  readonly reports: readonly Route[];
  readonly identity: ServingIdentity | undefined;
}

/** Opens what the configuration names. Rejects with `MooringError` "listen-failed". */
export async function openServers(
  config: Pick<AggregatorConfig, "apiAddress" | "metricsAddress" | "reports">,
  listen: Listen,
  { logger, local, health, reports, identity }: Offers,
) {
  const opened: Awaited<ReturnType<Listen>>[] = [];
  const open = async (routes: readonly Route[], where: ListenAt): Promise<string> => {
    const server = await listen(routes, where, logger);
    opened.push(server);
    return server.url;
  };
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((server) => server.close()));
  };
  const { apiAddress, metricsAddress, reports: reportsAt } = config;
  try {
    const urls = {
      url: await open(local, apiAddress),
      ...(metricsAddress && { health: await open(health, metricsAddress) }),
      ...(reportsAt && { reports: await open(reports, { ...reportsAt.address, identity }) }),
    };
    return { urls, close };
  } catch (error) {
    await close();
    throw error;
  }
}
