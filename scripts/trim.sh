#!/bin/sh
# Remove what an installed environment has but never uses: a third of its size.
# Usage: scripts/trim.sh VENV
set -eu
venv=$1
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# The packages' own tests, and what compilers need.
find "$site" -type d -name tests -prune -exec rm -rf {} +
find "$site" -type d -name include -prune -exec rm -rf {} +
find "$site" -type f \( -name '*.pyi' -o -name '*.pxd' -o -name '*.a' -o -name '*.lib' \) -delete
# Databases that no store can be in.
rm -rf "$site"/sqlalchemy/dialects/mssql "$site"/sqlalchemy/dialects/mysql "$site"/sqlalchemy/dialects/oracle
# Wheels have no links: z3's library comes twice.
for copy in "$site"/z3/lib/libz3.so.*; do
    if cmp -s "$copy" "$site/z3/lib/libz3.so"; then
        ln -sf libz3.so "$copy"
    fi
done
# Names that only debuggers read. Not of libraries in *.libs, whose layout was patched when the wheel was made.
if command -v strip > /dev/null; then
    find "$site" -type f -name '*.so*' ! -path '*.libs/*' -exec strip --strip-unneeded {} + 2> /dev/null
fi
# Nothing is installed into an image later, and no program but Python is started.
rm -rf "$site"/pip "$site"/pip-* "$site"/setuptools "$site"/setuptools-* "$site"/pkg_resources "$site"/_distutils_hack
rm -f "$site/distutils-precedence.pth"
find "$venv/bin" -mindepth 1 ! -name 'python*' -delete
