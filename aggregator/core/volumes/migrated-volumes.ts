/** The in-tree sources of a PersistentVolume whose CSI handle follows from the source alone. */
export interface InTreeSource {
  readonly awsElasticBlockStore?: { readonly volumeID: string } | undefined;
  readonly azureDisk?: { readonly diskURI: string } | undefined;
  readonly cinder?: { readonly volumeID: string } | undefined;
  readonly vsphereVolume?: { readonly volumePath: string } | undefined;
  readonly portworxVolume?: { readonly volumeID: string } | undefined;
}

/** A volume as its CSI driver names it. */
interface CsiHandle {
  readonly driver: string;
  readonly volumeHandle: string;
}

/**
 * The CSI identity of an in-tree volume whose plugin a CSI driver has taken over (k8s.io/csi-translation-lib). Staging path and
 * attachment use its handle, the pods' mounts the PV's name. Undefined for other volumes: the handle of a GCE disk depends on the
 * release and on labels, that of an Azure file share on its secret.
 */
export function migratedHandle(source: InTreeSource): CsiHandle | undefined {
  const { awsElasticBlockStore: ebs, azureDisk, cinder, vsphereVolume: vsphere, portworxVolume: portworx } = source;
  if (ebs !== undefined) return ebsHandle(ebs.volumeID);
  if (azureDisk !== undefined) return { driver: "disk.csi.azure.com", volumeHandle: azureDisk.diskURI };
  if (cinder !== undefined) return { driver: "cinder.csi.openstack.org", volumeHandle: cinder.volumeID };
  if (vsphere !== undefined) return { driver: "csi.vsphere.vmware.com", volumeHandle: vsphere.volumePath };
  if (portworx !== undefined) return { driver: "pxd.portworx.com", volumeHandle: portworx.volumeID };
  return undefined;
}

/** `vol-1`, `aws:///vol-1` and `aws://<zone>/vol-1` are one volume. */
function ebsHandle(volumeId: string): CsiHandle | undefined {
  const [, volumeHandle] = /^(?:aws:\/\/[^/]*\/)?(vol-[^/]*)$/.exec(volumeId) ?? [];
  return volumeHandle === undefined ? undefined : { driver: "ebs.csi.aws.com", volumeHandle };
}
