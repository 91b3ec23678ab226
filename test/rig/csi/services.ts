import type { ServiceDefinition } from "@grpc/grpc-js";
import { loadSync, type PackageDefinition } from "@grpc/proto-loader";

const FILES = ["csi.proto", "pluginregistration.proto"];

/** Services that the driver offers; the names are those of the definitions. */
export const IDENTITY = "csi.v1.Identity";
export const NODE = "csi.v1.Node";
export const CONTROLLER = "csi.v1.Controller";
export const REGISTRATION = "pluginregistration.Registration";

const definitions: PackageDefinition = loadSync(FILES, {
  includeDirs: [new URL("proto", import.meta.url).pathname],
  keepCase: true,
  enums: String,
  longs: Number,
  defaults: true,
  // Adds to each message the name of the field of a oneof that is set: `access_type`.
  oneofs: true,
});

/** The methods of a service. */
export function serviceDefinition(name: string): ServiceDefinition {
  const definition = definitions[name];
  if (definition === undefined || isMessage(definition)) throw new TypeError(`no service ${name} in the definitions`);
  return definition;
}

/** Messages and enums of a package are told from its services by their format. */
function isMessage(definition: PackageDefinition[string]): definition is Exclude<typeof definition, ServiceDefinition> {
  return "format" in definition && typeof definition.format === "string";
}
