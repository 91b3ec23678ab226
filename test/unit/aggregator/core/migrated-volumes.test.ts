import { describe, expect, it } from "vitest";
import { type InTreeSource, migratedHandle } from "../../../../aggregator/core/migrated-volumes.ts";

const ebs = (volumeID: string): InTreeSource => ({ awsElasticBlockStore: { volumeID } });
const DISK = "/subscriptions/s/resourceGroups/g/disks/d";
const VMDK = "[ds] kubevols/d.vmdk";

describe("migratedHandle knows", () => {
  it.each<readonly [name: string, source: InTreeSource, handle: string | undefined]>([
    ["an EBS volume by its ID", ebs("vol-02399794d890f9375"), "ebs.csi.aws.com vol-02399794d890f9375"],
    ["an EBS volume by a URL without a zone", ebs("aws:///vol-02399794"), "ebs.csi.aws.com vol-02399794"],
    ["an EBS volume by a URL with its zone", ebs("aws://us-west-2a/vol-02399794"), "ebs.csi.aws.com vol-02399794"],
    ["no EBS volume that upstream refuses to translate", ebs("aws://us-west-2a/02399794"), undefined],
    ["an Azure disk by its URI", { azureDisk: { diskURI: DISK } }, `disk.csi.azure.com ${DISK}`],
    ["a Cinder volume", { cinder: { volumeID: "c-1" } }, "cinder.csi.openstack.org c-1"],
    ["a vSphere disk by its path", { vsphereVolume: { volumePath: VMDK } }, `csi.vsphere.vmware.com ${VMDK}`],
    ["a Portworx volume by its ID", { portworxVolume: { volumeID: "p-1" } }, "pxd.portworx.com p-1"],
    ["no other source", {}, undefined],
  ])("%s", (_, source, handle) => {
    const found = migratedHandle(source);

    expect(found && `${found.driver} ${found.volumeHandle}`).toBe(handle);
  });
});
