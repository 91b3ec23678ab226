import { WORKLOAD_IMAGE } from "../rig/node/workload.ts";

/** A pod that runs a line of shell. */
export interface PodSpec {
  /** Also the value of its label `app`. */
  readonly name: string;
  /** The node that it is for; it goes through the scheduler all the same, unless it is bound from the beginning. */
  readonly node: string;
  readonly isBound?: boolean;
  readonly line: string;
  /** Sources of volumes by mount point. */
  readonly volumes?: Readonly<Record<string, object>>;
}

/** A pod of one container with busybox. */
export function pod({ name, node, line, volumes = {}, isBound = false }: PodSpec): object {
  const entries = Object.entries(volumes).map(([mountPath, source], index) => ({
    name: `v${index}`,
    mountPath,
    source,
  }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    spec: {
      ...(isBound ? { nodeName: node } : { nodeSelector: { "kubernetes.io/hostname": node } }),
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "main",
          image: WORKLOAD_IMAGE,
          command: ["/bin/sh", "-c", line],
          volumeMounts: entries.map(({ name, mountPath }) => ({ name, mountPath })),
        },
      ],
      volumes: entries.map(({ name, source }) => ({ name, ...source })),
    },
  };
}

/** A volume that is a directory of a node, and a claim bound to it. */
export function localVolume(name: string, on: string, path: string): readonly object[] {
  const spec = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
  return [
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name },
      spec: {
        ...spec,
        capacity: { storage: "1Mi" },
        local: { path },
        claimRef: { namespace: "default", name },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [on] }] },
            ],
          },
        },
      },
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name },
      spec: { ...spec, volumeName: name, resources: { requests: { storage: "1Mi" } } },
    },
  ];
}

/** A Service at port 80 for the pod of its name, which listens at port 8080. */
export function service(name: string): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
  };
}
