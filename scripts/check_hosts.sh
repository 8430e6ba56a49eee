#!/bin/sh
# Run a campaign over many hosts, network namespaces of this machine, while some of them fail; say in one line why
# where that cannot be done, which is no failure.
# Usage: scripts/check_hosts.sh [PYTHON]
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
cd "$(dirname "$0")/.."
python=${1:-.venv/bin/python}

leave() {
    echo "hosts: not checked here: $1"
    exit 0
}

[ "$(id -u)" -eq 0 ] || leave "it takes root"
unshare --net --pid --fork true 2> /dev/null || leave "namespaces are refused"
[ -c /dev/net/tun ] || leave "there are no TAP devices"
if ! command -v ip > /dev/null || ! command -v faketime > /dev/null; then
    command -v apt-get > /dev/null || leave "iproute2 and faketime are missing"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends iproute2 faketime; } \
        > /dev/null 2>&1 || leave "iproute2 and faketime cannot be installed"
fi
unshare --net sh -c 'ip link set lo up && ip link add probe type bridge && ip netns add tp-probe && ip netns del tp-probe' \
    2> /dev/null || leave "networks cannot be made"
timeout --kill-after=10 900 "$python" -m research.benchmarks.hosts
echo "hosts: the same results as on one"
