#!/bin/sh
# Pin the requirements with hashes for every platform; needs uv. Names no package host.
set -eu
cd "$(dirname "$0")/.."
export UV_CUSTOM_COMPILE_COMMAND="make lock"
uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
    pyproject.toml -o requirements/runtime.txt
uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
    -c requirements/runtime.txt --group dev pyproject.toml -o requirements/dev.txt
uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
    -c requirements/runtime.txt --extra docs pyproject.toml -o requirements/docs.txt
uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
    --group release -o requirements/release.txt
uv pip compile --quiet --python-version 3.11 --resolution lowest-direct --generate-hashes --no-emit-index-url \
    --group dev pyproject.toml -o requirements/lowest.txt
