import { homedir } from "node:os";
import { join } from "node:path";
import { MODULES, type ModuleName } from "./components.ts";

/** The environment variables that a run reads. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where programs may come from. */
export interface Settings {
  /** A folder with programs, by the convention of envtest; used only if it has all that are asked for. */
  readonly assets: string | undefined;
  /** The folder that keeps programs between runs. */
  readonly cache: string;
  /** Where releases are downloaded, by module; an empty text turns downloads off. */
  readonly downloads: Readonly<Record<ModuleName, string>>;
  /** The folders in which Go is looked for. */
  readonly path: string | undefined;
}

export const DOWNLOAD_VARIABLES = {
  kubernetes: "MOORING_KUBERNETES_DOWNLOADS",
  etcd: "MOORING_ETCD_DOWNLOADS",
  containerd: "MOORING_CONTAINERD_DOWNLOADS",
  "cni-plugins": "MOORING_CNI_PLUGINS_DOWNLOADS",
  coredns: "MOORING_COREDNS_DOWNLOADS",
  helm: "MOORING_HELM_DOWNLOADS",
  prometheus: "MOORING_PROMETHEUS_DOWNLOADS",
  kubeconform: "MOORING_KUBECONFORM_DOWNLOADS",
  "external-provisioner": "MOORING_EXTERNAL_PROVISIONER_DOWNLOADS",
  "local-path-provisioner": "MOORING_LOCAL_PATH_PROVISIONER_DOWNLOADS",
} as const satisfies Record<ModuleName, string>;

/** The settings in the environment, with the official download sites as defaults. */
export function readSettings(env: Environment): Settings {
  // The XDG convention says that a relative path is invalid and is to be ignored.
  const caches = env.XDG_CACHE_HOME?.startsWith("/") ? env.XDG_CACHE_HOME : join(env.HOME ?? homedir(), ".cache");
  const site = (module: ModuleName): string => env[DOWNLOAD_VARIABLES[module]] ?? MODULES[module].site;
  return {
    assets: env.KUBEBUILDER_ASSETS === "" ? undefined : env.KUBEBUILDER_ASSETS,
    cache: join(caches, "mooring"),
    path: env.PATH,
    downloads: {
      kubernetes: site("kubernetes"),
      etcd: site("etcd"),
      containerd: site("containerd"),
      "cni-plugins": site("cni-plugins"),
      coredns: site("coredns"),
      helm: site("helm"),
      prometheus: site("prometheus"),
      kubeconform: site("kubeconform"),
      "external-provisioner": site("external-provisioner"),
      "local-path-provisioner": site("local-path-provisioner"),
    },
  };
}
