#!/bin/sh
# Show that an image works as it is meant to be run: as uid 10001, with a read-only root and no home directory.
# Usage: scripts/run_image.sh [IMAGE] (made by buildah; needs root)
set -eu
image=${1:-treeproof}
container=$(buildah from "$image")
root=$(buildah mount "$container")
trap 'umount -R -l "$root" 2> /dev/null || true; buildah umount "$container" > /dev/null; buildah rm "$container" > /dev/null' EXIT
du -sm --apparent-size "$root" | awk '{print "size: " $1 " MB"}'
mount --bind "$root" "$root"
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
inside() {
    chroot --userspec=10001:10001 "$root" /usr/bin/env -i PATH=/opt/venv/bin:/usr/bin:/bin OMP_NUM_THREADS=1 \
        PYTHONDONTWRITEBYTECODE=1 NUMBA_CACHE_DIR=/tmp/numba WM_DATA_DIR=/data sh -c "cd /data && $1"
}
inside "id -u"
inside "touch /opt/written 2>&1 || true"
inside "wm --version"
inside "wm demo"
