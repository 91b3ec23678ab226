/** The pod of an aggregator's replica as the namespace's Pod Security level wants it. Nobody runs it: it bears the leader's label. */
export const AGGREGATOR_POD = {
  serviceAccountName: "mooring-aggregator",
  securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
  containers: [
    {
      name: "aggregator",
      image: "none",
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    },
  ],
} as const;
