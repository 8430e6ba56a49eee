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
    base=localhost/treeproof-base
    build_base=localhost/treeproof-build-base
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    make_base() {
        mmdebstrap --quiet --variant=essential --include="$2" --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
            --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
            --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/lib/*/gconv/*' \
            --dpkgopt='path-exclude=/usr/share/info/*' --dpkgopt='path-exclude=/usr/lib/python3*/pydoc_data/*' \
            --dpkgopt='path-exclude=/usr/lib/python3*/test/*' \
            --setup-hook='mkdir -p "$1/etc/apt/preferences.d" && printf "Package: perl usrmerge\nPin: release *\nPin-Priority: -1\n" > "$1/etc/apt/preferences.d/without-perl"' \
            --customize-hook='ln -sf python3 "$1/usr/bin/python"' \
            --customize-hook="$3" \
            "${DEBIAN:-bookworm}" "$work/rootfs.tar"
        container=$(buildah from scratch)
        buildah add --quiet "$container" "$work/rootfs.tar" / > /dev/null
        buildah commit --quiet --rm "$container" "$1" > /dev/null
    }
    # media-types and usr-is-merged, because their alternatives bring all of Perl.
    common=python3,libstdc++6,media-types,usr-is-merged
    # Only the installation of packages needs Perl and answers to its questions.
    make_base "$base" "$common,ca-certificates,passwd" \
        'rm -rf "$1"/usr/bin/perl* "$1"/usr/lib/*/perl-base "$1"/usr/share/perl5 "$1"/var/cache/debconf/*'
    make_base "$build_base" "$common,python3-venv,binutils" true
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
