#!/bin/sh
# The tests, in as many processes as there are cores; long ones move to whichever process is free.
# Usage: scripts/test.sh BIN [PYTEST ARGUMENTS]
set -eu
bin=$1
shift
export OMP_NUM_THREADS=1
unset PYTHONDONTWRITEBYTECODE # else each of the many processes compiles all modules and tests again
processes=auto
case "$*" in
*"not system"*) ;;
# Tests of servers and processes spend half of their time waiting: one process more uses it.
*) processes=$(($(getconf _NPROCESSORS_ONLN) + 1)) ;;
esac
exec "$bin/pytest" -n "$processes" --dist worksteal --durations=30 --durations-min=5 "$@"
