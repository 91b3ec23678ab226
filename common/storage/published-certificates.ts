/**
 * The ConfigMap in the agents' namespace in which each replica of the aggregator publishes its certificate, as `<pod name>.crt`. Agents
 * trust exactly these.
 */
export const CERTIFICATES_NAME = "mooring-aggregator-certificates";
