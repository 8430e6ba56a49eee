#!/bin/sh
# Run the quick tests with the newest dependencies on the newest Python that all of them have wheels for: one of
# this machine, or else Debian's, in a root file system of its own (needs root and mmdebstrap).
# Usage: scripts/newest.sh PYTEST ARGUMENTS     PYTHON_VERSION and DEBIAN name others.
# Exit code 77 if there is no such Python here and none can be set up.
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # some have chroot only there
cd "$(dirname "$0")/.."
version=${PYTHON_VERSION:-3.14}
venv=.venv-newest

if "python$version" -c "" 2> /dev/null; then # of versions that are not selected, pyenv has a command that only says so
    scripts/setup.sh "python$version" "$venv" requirements/dev.txt
    exec scripts/test.sh "$venv/bin" "$@"
fi
leave() {
    echo "newest: not checked here: there is no python$version, and $1"
    exit 77
}
[ "$(id -u)" -eq 0 ] || leave "Debian's can be set up by root alone"
unshare --mount --pid --fork true 2> /dev/null || leave "namespaces for Debian's are refused"
command -v mmdebstrap > /dev/null || leave "no mmdebstrap to set up Debian's"
if [ "${WM_IN_NAMESPACES:-}" != yes ]; then # mounts and processes of this script end with it, however it ends
    WM_IN_NAMESPACES=yes exec unshare --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi
root=$(mktemp -d)
trap 'umount -R -l "$root"; rmdir "$root"' EXIT
mount -t tmpfs -o size=6G,mode=0755,dev tmpfs "$root"
# Mirrors that are copied at times only have lists that are out of date, though signed.
mmdebstrap --quiet --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \
    --include="python$version,python$version-venv,ca-certificates,libgomp1,git" "${DEBIAN:-testing}" "$root" ||
    leave "Debian's cannot be installed"
# Where packages come from, and whom to trust for that, is the machine's own business.
for path in /etc/pip.conf /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e "$path" ] || install -D -m 644 "$path" "$root$path"
done
mkdir "$root/src"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount --bind . "$root/src"
inside() { # folders of this machine are not there
    chroot "$root" env -u WM_DATA_DIR HOME=/root PATH=/usr/bin:/bin PIP_FIND_LINKS= sh -c 'cd /src && exec "$@"' sh "$@"
}
inside scripts/setup.sh "python$version" /venv requirements/dev.txt
inside scripts/test.sh /venv/bin "$@"
