# Build both images with these two commands:
#
#   docker build --build-arg BENCHD_SOURCE=$(script/source-id) --target benchd -t benchd.local/benchd:0.1.0 .
#   docker build --build-arg BENCHD_SOURCE=$(script/source-id) --target benchworker -t benchd.local/benchworker:0.1.0 .
#
# Every result names the source that way; without the argument it says "unknown". Then load them on every node, or push them to a registry (docs/install.md). Both run as uid 65532 and write only into
# mounted volumes, so the root file system may be read-only. The tests use no Docker: tests/e2e/mkimage.py makes the same
# images from a build tree, and tests/e2e/test_image.py compares the two.
ARG BASE=debian:bookworm-slim
FROM $BASE AS build
COPY script/packages.txt /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends $(sed -n 's/^build  *//p' /tmp/packages.txt)
COPY . /src
ARG BENCHD_SOURCE
# The build type is the default, as in a local build, so that measurements of both can be compared.
RUN meson setup /build /src --prefix=/usr -Dtests=disabled \
 && DESTDIR=/out meson install -C /build --strip

FROM $BASE AS base
RUN groupadd --gid 65532 benchd \
 && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin benchd

FROM base AS benchd
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
    ca-certificates libcurl4 libgnutls30 libjansson4 libmicrohttpd12 libpcre2-8-0 libsqlite3-0 libssl3 libuv1 libyaml-0-2 libzstd1 \
 && rm -rf /var/lib/apt/lists/*
# benchctl is for what is done where the store is: kubectl exec deploy/benchd -- benchctl results RUN --store ...
COPY --from=build /out/usr/bin/benchd /out/usr/bin/benchctl /usr/bin/
ARG BENCHD_SOURCE
LABEL org.opencontainers.image.title="benchd" org.opencontainers.image.version="0.1.0" org.opencontainers.image.revision="$BENCHD_SOURCE" \
    org.opencontainers.image.licenses="Apache-2.0" org.opencontainers.image.description="Measures how distributed training scales; the controller"
USER 65532:65532
ENTRYPOINT ["/usr/bin/benchd"]

FROM base AS benchworker
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
    libisal2 libjansson4 libopenblas0-pthread libssl3 zlib1g \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/usr/bin/benchworker /usr/bin/
ARG BENCHD_SOURCE
LABEL org.opencontainers.image.title="benchworker" org.opencontainers.image.version="0.1.0" org.opencontainers.image.revision="$BENCHD_SOURCE" \
    org.opencontainers.image.licenses="Apache-2.0" org.opencontainers.image.description="Measures how distributed training scales; the native worker"
USER 65532:65532
ENTRYPOINT ["/usr/bin/benchworker"]
