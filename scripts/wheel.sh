#!/bin/sh
# Build wheel and sdist into dist/, check them, and run the demo and the notebook from the wheel alone: in an
# environment that has nothing else, in a directory that has nothing of this tree.
# Usage: scripts/wheel.sh PYTHON BIN    (BIN has build and twine)
set -eu
python=$1
bin=$(cd "$2" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
rm -rf dist
"$bin/python" -m build --no-isolation
"$bin/python" -m twine check --strict dist/*

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$python" -m venv "$place/venv"
wheel=$(echo "$root"/dist/*.whl)
"$place/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel[notebook]"
cp examples/ownership.ipynb "$place"
cd "$place"
unset PYTHONPATH
"$place/venv/bin/wm" --version
"$place/venv/bin/wm" demo | tee demo.txt
# The README shows this output.
PYTHONPATH=$root "$bin/python" -c '
import sys
from tests.documents import ROOT, blocks, matches
shown = next(block.text for block in blocks(ROOT / "README.md") if block.text.startswith("Verification"))
sys.exit(None if matches(shown, open("demo.txt").read()) else "the README shows another output of wm demo")
'
"$place/venv/bin/jupyter-execute" ownership.ipynb
echo "the wheel is complete: $wheel"
