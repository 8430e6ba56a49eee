#!/bin/sh
# The whole test suite with coverage over all three packages, in as many processes as there are cores.
# Usage: scripts/test.sh BIN [PYTEST ARGUMENTS]
set -eu
bin=$1
shift
export OMP_NUM_THREADS=1
"$bin/pytest" -n auto --cov --cov-report=term:skip-covered "$@"
