#!/bin/sh
# Show that an image works as it is meant to be run: as uid 10001, with a read-only root and no home directory.
# Usage: scripts/run_image.sh [IMAGE [PYTHON]] (made by buildah; needs root). PYTHON has the requirements for
# development: it starts the servers that a worker and an orchestrator of the image work with.
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # some have chroot and useradd only there
if [ "${WM_IN_NAMESPACES:-}" != yes ]; then # mounts and processes of this script end with it, however it ends
    WM_IN_NAMESPACES=yes exec unshare --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi
cd "$(dirname "$0")/.."
image=${1:-treeproof}
python=${2:-.venv/bin/python}
container=treeproof-run
buildah rm "$container" > /dev/null 2>&1 || true # of one that was killed
buildah from --pull-never --name "$container" "$image" > /dev/null
trap 'buildah umount "$container" > /dev/null; buildah rm "$container" > /dev/null' EXIT
root=$(buildah mount "$container")
du -s --block-size=MB --apparent-size "$root" | awk '{print "size: " $1}'
mount --rbind "$root" "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0700,uid=10001,gid=10001 tmpfs "$root/data"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev"
mkdir -m 1777 "$root/dev/shm"
for device in null zero random urandom; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
buildah inspect --type image "$image" > "$root/tmp/image.json"
"$python" -m research.image "$root" "$root/tmp/image.json"
umount -R -l "$root"
