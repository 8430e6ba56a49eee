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
make_base localhost/treeproof-base "$common,ca-certificates,passwd" \
    'rm -rf "$1"/usr/bin/perl* "$1"/usr/lib/*/perl-base "$1"/usr/share/perl5 "$1"/var/cache/debconf/*'
make_base localhost/treeproof-build-base "$common,python3-venv,binutils" true
