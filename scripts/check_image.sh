#!/bin/sh
# Build the image and run it, where that can be done; say in one line why where it cannot, which is no failure.
# Usage: scripts/check_image.sh [PYTHON [BIN]]     LIMIT_S seconds (900) are enough for everything together, or it is left.
# With BIN, of an environment of requirements/release.txt, what is installed in it is listed.
# Of failures only those of the image itself count: not of the machine, nor of the places that packages come from.
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # some have chroot and useradd only there
cd "$(dirname "$0")/.."
python=${1:-.venv/bin/python}
deadline=$(($(date +%s) + ${LIMIT_S:-900}))
log=$(mktemp)
trap 'rm -f "$log"' EXIT

leave() {
    echo "image: not checked here: $1"
    exit 0
}
# Run a command in the time that is left, with its output in the log; return its exit code.
bounded() {
    left=$((deadline - $(date +%s)))
    [ "$left" -gt 0 ] || leave "no time left for $1"
    code=0
    timeout --kill-after=10 "$left" "$@" > "$log" 2>&1 || code=$?
    [ "$code" -ne 124 ] && [ "$code" -ne 137 ] || leave "$1 took too long"
    return "$code"
}
last() { grep . "$log" | tail -n 1 | cut -c1-200; }

[ "$(id -u)" -eq 0 ] || leave "it takes root"
unshare --mount --pid --fork true 2> /dev/null || leave "namespaces are refused"
if ! command -v buildah > /dev/null || ! command -v mmdebstrap > /dev/null; then
    command -v apt-get > /dev/null || leave "buildah and mmdebstrap are missing"
    bounded apt-get update -qq || leave "no package lists: $(last)"
    bounded env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends buildah mmdebstrap ||
        leave "buildah and mmdebstrap cannot be installed: $(last)"
fi
# The Dockerfile's own base, if a registry gives it at once.
BASE=docker.io/library/python:3.11-slim
BUILD_BASE=$BASE
if ! timeout --kill-after=5 60 buildah pull --quiet "$BASE" > /dev/null 2>&1; then
    bounded scripts/image_base.sh || leave "no base image: $(last)"
    BASE=localhost/treeproof-base
    BUILD_BASE=localhost/treeproof-build-base
fi
container=$(buildah from --pull-never "$BUILD_BASE") || leave "buildah makes no container"
probed=0
bounded buildah run --isolation chroot "$container" -- true || probed=1
buildah rm "$container" > /dev/null
[ "$probed" -eq 0 ] || leave "nothing can be run in a container: $(last)"

export BASE BUILD_BASE BUILDER=buildah
if ! bounded scripts/image.sh; then
    ! grep -q "Failed to establish a new connection\|Read timed out\|Temporary failure" "$log" || leave "no packages"
    cat "$log"
    exit 1
fi
bounded scripts/run_image.sh treeproof "$python" || {
    cat "$log"
    exit 1
}
echo "image: built on $BASE, and run as it is meant to be"
[ -z "${2:-}" ] || scripts/image_sbom.sh "$2"
grep "size:\|rows;" "$log"
