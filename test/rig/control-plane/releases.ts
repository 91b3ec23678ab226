import { goArchitecture } from "./cache.ts";
import { COMPONENTS, type ComponentName, MODULES } from "./components.ts";

/** One file of a release and where its checksum stands. */
export interface ReleaseFile {
  readonly url: string;
  readonly checksumUrl: string;
  /** Its name in the list of checksums. */
  readonly name: string;
}

/** Where a program is in an official release: a file of its own, or a member of an archive. */
export interface Release {
  readonly file: ReleaseFile;
  /** The path inside the archive. */
  readonly member?: string;
}

/** Where a component's official release is below the site's base URL, for this machine's processor. */
export function releaseOf(name: ComponentName, base: string): Release {
  const arch = goArchitecture(process.arch);
  const { module } = COMPONENTS[name];
  const { version } = MODULES[module];
  switch (module) {
    case "kubernetes": {
      const url = `${base}/v${version}/bin/linux/${arch}/${name}`;
      return { file: { url, checksumUrl: `${url}.sha256`, name } };
    }
    case "etcd": {
      const title = `etcd-v${version}-linux-${arch}`;
      return { file: archive(`${base}/v${version}`, `${title}.tar.gz`, "SHA256SUMS"), member: `${title}/${name}` };
    }
    case "containerd": {
      // The other archive is linked against one distribution's C library.
      const file = `containerd-static-${version}-linux-${arch}.tar.gz`;
      return { file: archive(`${base}/v${version}`, file, `${file}.sha256sum`), member: `bin/${name}` };
    }
    case "cni-plugins": {
      const file = `cni-plugins-linux-${arch}-v${version}.tgz`;
      return { file: archive(`${base}/v${version}`, file, `${file}.sha256`), member: `./${name}` };
    }
    case "coredns": {
      const file = `coredns_${version}_linux_${arch}.tgz`;
      return { file: archive(`${base}/v${version}`, file, `${file}.sha256`), member: name };
    }
    case "helm": {
      const file = `helm-v${version}-linux-${arch}.tar.gz`;
      return { file: archive(base, file, `${file}.sha256sum`), member: `linux-${arch}/${name}` };
    }
    case "prometheus": {
      const title = `prometheus-${version}.linux-${arch}`;
      return { file: archive(`${base}/v${version}`, `${title}.tar.gz`, "sha256sums.txt"), member: `${title}/${name}` };
    }
    case "kubeconform":
      return { file: archive(`${base}/v${version}`, `kubeconform-linux-${arch}.tar.gz`, "CHECKSUMS"), member: name };
    case "external-provisioner":
    case "local-path-provisioner":
      // There is no official one: a mirror may serve the program by itself.
      return { file: archive(`${base}/v${version}`, name, `${name}.sha256`) };
  }
}

function archive(folder: string, name: string, checksums: string): ReleaseFile {
  return { url: `${folder}/${name}`, checksumUrl: `${folder}/${checksums}`, name };
}
