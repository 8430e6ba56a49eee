#!/bin/sh
# Remove what an installed environment has but never uses: a third of its size.
# Usage: scripts/trim.sh VENV
set -eu
venv=$1
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# The packages' own tests with their data, and what compilers need.
find "$site" -type d \( -name tests -o -name test -o -name test_data -o -name benchmarks -o -name include \) -prune -exec rm -rf {} +
find "$site" -type f \( -name '_simd.*.so' -o -name '*_tests.*.so' -o -name '_test_*.so' \) -delete
find "$site" -type f \( -name '*.py[ix]' -o -name '*.px[di]' -o -name '*.[ach]' -o -name '*.[ch]pp' -o -name '*.lib' \
    -o -name '*.tp' \) -delete
rm -rf "$site/sqlalchemy/testing"
# Databases that no store can be in.
rm -rf "$site"/sqlalchemy/dialects/mssql "$site"/sqlalchemy/dialects/mysql "$site"/sqlalchemy/dialects/oracle
# Wheels have no links: z3's library comes twice, and those of Fortran come with numpy and with scipy.
find "$site" -type f -name '*.so*' -size +100k -exec sha256sum {} + | sort | while read -r hash path; do
    if [ "$hash" = "${last_hash:-}" ]; then
        ln -sfr "$last_path" "$path"
    else
        last_hash=$hash last_path=$path
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
