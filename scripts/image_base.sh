#!/bin/sh
# Make base images from Debian's packages, for places from which no image registry can be reached:
# localhost/treeproof-base, and localhost/treeproof-build-base, which can also make a virtual environment.
# Needs root, buildah and mmdebstrap. DEBIAN names the release.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make_base() {
    mmdebstrap --quiet --variant=essential --include="$2" --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/lib/*/gconv/*' \
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
# Only the installation of packages needs Perl, answers to its questions, and Python's tests and help, which it compiles.
make_base localhost/treeproof-base "$common,ca-certificates,passwd" \
    'cd "$1" && rm -rf usr/bin/perl* usr/lib/*/perl-base usr/share/perl5 usr/share/info var/cache/debconf/* \
        usr/lib/python3*/test usr/lib/python3*/pydoc_data'
make_base localhost/treeproof-build-base "$common,python3-venv,binutils" true
