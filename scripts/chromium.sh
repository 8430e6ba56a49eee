#!/bin/sh
# Chromium for the tests in a browser, from Debian's packages: installed by root, else unpacked into FOLDER.
# Does nothing where a Chromium is there already. Usage: scripts/chromium.sh FOLDER
set -eu
folder=$1

for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done
[ -x "$folder/chromium" ] && exit 0
command -v apt-get >/dev/null || {
    echo "no Chromium here, and no apt-get: install one, or name it in WM_TEST_CHROMIUM" >&2
    exit 1
}
if [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq -o Acquire::Retries=3
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends -o Acquire::Retries=3 chromium
    exit 0
fi
# A simulated installation names what is missing on this machine; nothing of it needs root to be unpacked.
mkdir -p "$folder/packages" "$folder/root"
folder=$(cd "$folder" && pwd)
missing=$(apt-get install --simulate --no-install-recommends chromium | sed -n 's/^Inst \([^ ]*\) .*/\1/p')
(cd "$folder/packages" && apt-get download -qq $missing)
for package in "$folder"/packages/*.deb; do
    dpkg -x "$package" "$folder/root"
done
rm -r "$folder/packages"
libraries=$(find "$folder/root/lib" "$folder/root/usr/lib" -maxdepth 1 -name '*-linux-gnu*' 2>/dev/null | tr '\n' ':')
cat >"$folder/chromium" <<END
#!/bin/sh
LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH-}" exec "$folder/root/usr/lib/chromium/chromium" "\$@"
END
chmod +x "$folder/chromium"
