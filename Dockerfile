# Node.js on a slim glibc base, for building alone: nothing of it is in the image but libraries. It needs no shell. It is named with its
# digest (`node:26-trixie-slim@sha256:…`), or the build refuses it.
ARG NODE_IMAGE

FROM ${NODE_IMAGE} AS build
ARG NODE_IMAGE
# For tests alone, whose base is of this machine: any base.
ARG UNPINNED_BASE=no
WORKDIR /src
COPY .ci/base-image.mjs .ci/
RUN ["node", ".ci/base-image.mjs"]
# The packages of the lock file, in a layer that changes with it alone.
COPY package.json package-lock.json .npmrc ./
COPY .ci .ci
RUN ["node", ".ci/launch.mjs", "--version"]
COPY LICENSE ./
COPY agent agent
COPY aggregator aggregator
COPY cli/uninstall cli/uninstall
COPY common common
COPY provisioner provisioner
RUN ["node", ".ci/launch.mjs", ".ci/bundle.ts", "/app"]
# The Node.js that the lock file pins, what it loads, and nothing else: no shell, no package manager.
RUN ["node", ".ci/launch.mjs", ".ci/image-root.ts", "/image"]

FROM scratch
ARG VERSION=0.0.0-unreleased
ARG REVISION=unknown
ARG NODE_IMAGE
LABEL org.opencontainers.image.title="Mooring" \
      org.opencontainers.image.description="Tells a Kubernetes administrator when a volume was really last used" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${NODE_IMAGE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /image /
COPY --from=build /app /app
# One arena for all threads: glibc makes one for each of Node.js's ten threads, and keeps in each what that thread needed once.
ENV PATH=/usr/local/bin NODE_ENV=production MALLOC_ARENA_MAX=1
# The aggregator's; the manifests give the agent another one. A number, so that the kubelet can tell that it is not root.
USER 60872:60872
WORKDIR /
EXPOSE 8443 9808
# Flags of Node.js for each command are in .ci/image/node-flags.json.
ENTRYPOINT ["node", "/app/mooring.mjs"]
CMD ["--help"]
