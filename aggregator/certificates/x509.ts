// What issuing needs: 17 MiB, and most of a second to load. By names, as a bundle cannot list those of a CommonJS package that is imported
// on demand. The second import needs the first.
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
