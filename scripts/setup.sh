#!/bin/sh
# Make a virtual environment and install one hash-pinned requirements file and this project into it.
# Usage: scripts/setup.sh PYTHON VENV REQUIREMENTS
set -eu
python=$1
venv=$2
requirements=$3

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "treeproof needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.11" >&2
    exit 2
}
if [ ! -x "$venv/bin/python" ]; then
    # Debian's python3 without python3-venv has no ensurepip: then the system's pip installs into the
    # environment from outside.
    if "$python" -c 'import ensurepip' 2>/dev/null; then
        "$python" -m venv "$venv"
    else
        "$python" -m venv --without-pip "$venv"
    fi
fi
if [ -x "$venv/bin/pip" ]; then
    pip() { "$venv/bin/python" -m pip "$@"; }
else
    pip() { "$python" -m pip --python "$venv/bin/python" "$@"; }
fi
pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r "$requirements"
# The project itself: a path file is all that an editable install needs, and it needs no build tool.
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
pwd > "$site/treeproof.pth"
printf '#!/bin/sh\nexec "%s/bin/python" -P -m orchestrator.cli "$@"\n' "$(cd "$venv" && pwd)" > "$venv/bin/wm"
chmod +x "$venv/bin/wm"
