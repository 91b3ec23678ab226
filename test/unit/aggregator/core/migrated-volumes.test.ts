import { describe, expect, it } from "vitest";
import { type InTreeSource, migratedHandle } from "../../../../aggregator/core/migrated-volumes.ts";

describe("migratedHandle", () => {
  it.each<{ readonly name: string; readonly source: InTreeSource; readonly handle: string | undefined }>(
    // biome-ignore format: a row is a line
    [
      {
        name: "an EBS volume by its ID",
        source: { awsElasticBlockStore: { volumeID: "vol-02399794d890f9375" } },
        handle: "ebs.csi.aws.com vol-02399794d890f9375",
      },
      {
        name: "an EBS volume by a URL without a zone",
        source: { awsElasticBlockStore: { volumeID: "aws:///vol-02399794" } },
        handle: "ebs.csi.aws.com vol-02399794",
      },
      {
        name: "an EBS volume by a URL with its zone",
        source: { awsElasticBlockStore: { volumeID: "aws://us-west-2a/vol-02399794" } },
        handle: "ebs.csi.aws.com vol-02399794",
      },
      {
        name: "no EBS volume, which upstream refuses to translate, too",
        source: { awsElasticBlockStore: { volumeID: "aws://us-west-2a/02399794" } },
        handle: undefined,
      },
      {
        name: "an Azure disk by its URI",
        source: { azureDisk: { diskURI: "/subscriptions/s/resourceGroups/g/disks/d" } },
        handle: "disk.csi.azure.com /subscriptions/s/resourceGroups/g/disks/d",
      },
      { name: "a Cinder volume", source: { cinder: { volumeID: "c-1" } }, handle: "cinder.csi.openstack.org c-1" },
      {
        name: "a vSphere disk by its path",
        source: { vsphereVolume: { volumePath: "[ds] kubevols/d.vmdk" } },
        handle: "csi.vsphere.vmware.com [ds] kubevols/d.vmdk",
      },
      { name: "a Portworx volume by its ID", source: { portworxVolume: { volumeID: "p-1" } }, handle: "pxd.portworx.com p-1" },
      { name: "a source of which it is not known", source: {}, handle: undefined },
    ],
  )("$name", ({ source, handle }) => {
    const found = migratedHandle(source);

    expect(found && `${found.driver} ${found.volumeHandle}`).toBe(handle);
  });
});
