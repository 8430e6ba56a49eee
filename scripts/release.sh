#!/bin/sh
# Build the wheel twice, from two copies of the tree at different places, and compare; list what it depends on.
# Usage: scripts/release.sh BIN (of an environment of requirements/release.txt). Writes into dist/.
set -eu
cd "$(dirname "$0")/.."
bin=$(cd "$1" && pwd)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for place in one another/place; do
    mkdir -p "$work/$place"
    git archive HEAD | tar -x -C "$work/$place"
    "$bin/python" -m build --wheel --no-isolation --outdir "$work/$place/dist" "$work/$place" > /dev/null
done
for wheel in "$work"/one/dist/*.whl; do
    cmp "$wheel" "$work/another/place/dist/$(basename "$wheel")"
done
mkdir -p dist
cp "$work"/one/dist/*.whl dist/
# Its one warning: requirements files do not say which of them the project itself asks for.
PYTHONWARNINGS=ignore "$bin/cyclonedx-py" requirements requirements/runtime.txt --pyproject pyproject.toml --output-reproducible \
    --output-format JSON --output-file dist/treeproof.cdx.json
"$bin/kubernetes-validate" --strict --quiet deploy/kubernetes.yaml
(cd dist && sha256sum ./*.whl ./*.cdx.json | tee SHA256SUMS)
