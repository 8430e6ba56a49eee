#!/bin/sh
# Build the image, with Docker or Podman where there is one, else with buildah, which needs no engine.
# Usage: scripts/image.sh [TAG]; BASE names another base image. BASE=debian makes one from Debian's packages,
# for places from which no image registry can be reached (needs root, buildah and mmdebstrap).
set -eu
cd "$(dirname "$0")/.."
tag=${1:-treeproof}
base=${BASE:-python:3.11-slim}
build_base=${BUILD_BASE:-python:3.11}

if [ "$base" = debian ]; then
    scripts/image_base.sh
    base=localhost/treeproof-base
    build_base=localhost/treeproof-build-base
elif [ -z "${BUILDER:-}" ]; then
    for builder in docker podman; do
        if "$builder" info > /dev/null 2>&1; then
            exec "$builder" build --build-arg BASE="$base" --build-arg BUILD_BASE="$build_base" -t "$tag" .
        fi
    done
fi

# Where packages come from, and whom to trust for that, is the builder's own business.
set --
for path in /etc/pip.conf /etc/ssl/certs; do
    if [ -e "$path" ]; then
        set -- "$@" --volume "$path:$path:ro"
    fi
done
buildah build --isolation chroot --build-arg BASE="$base" --build-arg BUILD_BASE="$build_base" "$@" -t "$tag" .
