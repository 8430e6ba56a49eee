#!/bin/sh
# List what is installed in an image that buildah has, as a CycloneDX document; as root.
# Usage: scripts/image_sbom.sh BIN [IMAGE [FILE]]   (BIN: of an environment of requirements/release.txt)
set -eu
cd "$(dirname "$0")/.."
image=${2:-treeproof}
container=$(buildah from --pull-never "$image")
trap 'buildah umount "$container" > /dev/null; buildah rm "$container" > /dev/null' EXIT
"$1/python" scripts/image_sbom.py "$(buildah mount "$container")" "${3:-dist/treeproof-image.cdx.json}"
