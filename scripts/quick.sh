#!/bin/sh
# The tests that need no server and start no processes of the command, without coverage.
# Usage: scripts/quick.sh BIN [PYTEST ARGUMENTS]
set -eu
bin=$1
shift
export OMP_NUM_THREADS=1
"$bin/pytest" -n auto -m "not system and not server" -q "$@"
