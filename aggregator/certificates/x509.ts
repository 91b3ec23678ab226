// What is loaded when something has to be issued: 17 MiB, and most of a second. By names, since a bundle cannot tell those of a package of the
// older kind when it is imported on demand. The first import is what the second needs.
import "reflect-metadata";

// biome-ignore lint/performance/noBarrelFile: nothing but what is listed is to be loaded on demand, and by name
export {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
