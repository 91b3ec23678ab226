// Ends the image's build unless its base is named with a digest: what a tag names may be something else tomorrow.
const { NODE_IMAGE = "", UNPINNED_BASE } = process.env;

if (UNPINNED_BASE !== "allowed" && !/@sha256:[0-9a-f]{64}$/.test(NODE_IMAGE)) {
  process.stderr.write(
    `The base image "${NODE_IMAGE}" has no digest. Name one: --build-arg NODE_IMAGE=node:26-trixie-slim@sha256:<64 hexadecimal digits>,\n` +
      "as `docker buildx imagetools inspect node:26-trixie-slim` shows it.\n",
  );
  process.exitCode = 1;
}
