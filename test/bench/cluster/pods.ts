import type { V1Container, V1Pod, V1Volume } from "@kubernetes/client-node";
import { digestOf, nodeName, type PodPlace } from "./layout.ts";

/** When everything here began, on the wire. */
const STARTED = "2026-11-20T09:00:00Z";
const FINISHED = "2026-11-20T10:00:00Z";
const ACCOUNT_MOUNT = { mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", name: "token", readOnly: true };

/** A pod as a workload's controller makes it and the scheduler binds it: an application with its sidecar, and five volumes or more. */
export function podObject(place: PodPlace, claims: readonly string[]): V1Pod {
  const { namespace, name, node, index } = place;
  const app = name.replace(/-[^-]+$/, "");
  return {
    metadata: {
      namespace,
      name,
      labels: {
        "app.kubernetes.io/instance": `${app}-production`,
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/name": place.isAgent ? "mooring-agent" : app,
        "pod-template-hash": digestOf(app).slice(0, 10),
        "example.com/cost-centre": `cc-${1000 + (index % 97)}`,
      },
      annotations: { "prometheus.io/port": "9090", "prometheus.io/scrape": "true" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "StatefulSet", name: app, uid: digestOf(app).slice(0, 36), controller: true },
      ],
    },
    spec: {
      nodeName: nodeName(node),
      serviceAccountName: place.isAgent ? "mooring-agent" : "default",
      restartPolicy: place.isFinished ? "Never" : "Always",
      priority: 0,
      containers: [container("app", claims), container("metrics-proxy", [])],
      volumes: volumes(claims),
      tolerations: ["not-ready", "unreachable"].map((why) => ({
        effect: "NoExecute",
        key: `node.kubernetes.io/${why}`,
        operator: "Exists",
        tolerationSeconds: 300,
      })),
    },
  };
}

function container(name: string, claims: readonly string[]): V1Container {
  const mounts = claims.map((_, slot) => ({ name: `data-${slot}`, mountPath: `/var/lib/app-${slot}` }));
  return {
    name,
    image: imageOf(name),
    imagePullPolicy: "IfNotPresent",
    args: ["--config=/etc/app/config.yaml", "--log-format=json", "--listen=:8080"],
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
      { name: "ENVIRONMENT", value: "production" },
      { name: "TRACING_ENDPOINT", value: "http://collector.observability.svc:4317" },
    ],
    ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
    livenessProbe: { httpGet: { path: "/livez", port: "http" }, periodSeconds: 10, timeoutSeconds: 1 },
    readinessProbe: { httpGet: { path: "/readyz", port: "http" }, periodSeconds: 5, timeoutSeconds: 1 },
    resources: { limits: { memory: "1Gi" }, requests: { cpu: "250m", memory: "512Mi" } },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsNonRoot: true },
    volumeMounts: [
      ...mounts,
      { name: "config", mountPath: "/etc/app", readOnly: true },
      { name: "secrets", mountPath: "/etc/app-secrets", readOnly: true },
      { name: "scratch", mountPath: "/tmp" },
      ACCOUNT_MOUNT,
    ],
  };
}

function volumes(claims: readonly string[]): V1Volume[] {
  return [
    ...claims.map((claimName, slot) => ({ name: `data-${slot}`, persistentVolumeClaim: { claimName } })),
    { name: "config", configMap: { name: "app-config", defaultMode: 420 } },
    { name: "secrets", secret: { secretName: "app-secrets", defaultMode: 420 } },
    { name: "scratch", emptyDir: {} },
    {
      name: "token",
      projected: {
        defaultMode: 420,
        sources: [
          { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
          { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        ],
      },
    },
  ];
}

/** The status that a kubelet has given the pod, as it goes over the wire. */
export function podStatus({ index, node, isFinished }: PodPlace): object {
  const podIP = `100.${64 + ((node >> 8) & 63)}.${node & 255}.${1 + (index % 250)}`;
  const types = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
  const done = { reason: "PodCompleted", status: "False" };
  return {
    phase: isFinished ? "Succeeded" : "Running",
    conditions: types.map((type) => ({
      type,
      lastTransitionTime: STARTED,
      status: "True",
      ...(isFinished && type.endsWith("Ready") ? done : {}),
    })),
    containerStatuses: ["app", "metrics-proxy"].map((name) => containerStatus(`${name} ${index}`, isFinished)),
    hostIP: `10.${(node >> 8) & 255}.${node & 255}.10`,
    podIP,
    podIPs: [{ ip: podIP }],
    qosClass: "Burstable",
    startTime: STARTED,
  };
}

function containerStatus(text: string, isFinished: boolean): object {
  const [name = ""] = text.split(" ");
  const containerID = `containerd://${digestOf(text)}`;
  const end = { exitCode: 0, reason: "Completed", startedAt: STARTED, finishedAt: FINISHED, containerID };
  return {
    name,
    containerID,
    image: imageOf(name),
    imageID: `registry.example.com/platform/${name}@sha256:${digestOf(name)}`,
    lastState: {},
    ready: !isFinished,
    restartCount: 0,
    started: !isFinished,
    state: isFinished ? { terminated: end } : { running: { startedAt: STARTED } },
  };
}

function imageOf(container: string): string {
  return `registry.example.com/platform/${container}:v1.42.7`;
}
