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
# Without root: package lists of our own, as those of the machine may be missing or old. A simulated installation
# names what is missing here; nothing of it needs root to be unpacked.
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
rm -rf "$folder/packages" "$folder/root"
mkdir -p "$folder/packages" "$folder/root" "$folder/lists/partial" "$folder/cache/archives/partial"
apt() {
    command=$1
    shift
    apt-get "$command" -q -o Acquire::Retries=3 -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" \
        -o Debug::NoLocking=1 "$@"
}
apt update >&2
apt install --simulate --no-install-recommends chromium >"$folder/simulated"
missing=$(sed -n 's/^Inst \([^ ]*\) .*/\1/p' "$folder/simulated")
[ -n "$missing" ] || {
    echo "apt-get knows of nothing to install: name the Chromium of this machine in WM_TEST_CHROMIUM" >&2
    exit 1
}
(cd "$folder/packages" && apt download $missing >&2)
for package in "$folder"/packages/*.deb; do
    dpkg -x "$package" "$folder/root"
done
rm -r "$folder/packages" "$folder/lists" "$folder/cache" "$folder/simulated"
libraries=$(find "$folder/root" \( -name '*.so' -o -name '*.so.*' \) -printf '%h\n' | sort -u | tr '\n' ':')
# Where the machine has no fonts, those that were unpacked.
fonts=
[ -e /etc/fonts/fonts.conf ] || {
    fonts="$folder/fonts.conf"
    cat >"$fonts" <<END
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>$folder/root/usr/share/fonts</dir><cachedir>$folder/fonts</cachedir></fontconfig>
END
}
cat >"$folder/chromium" <<END
#!/bin/sh
[ -z "$fonts" ] || export FONTCONFIG_FILE="$fonts"
LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH-}" exec "$folder/root/usr/lib/chromium/chromium" "\$@"
END
chmod +x "$folder/chromium"
"$folder/chromium" --version
