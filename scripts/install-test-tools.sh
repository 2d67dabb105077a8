#!/bin/sh
# Installs the programs that the tests run, on Debian as root. `npm test` calls it when one is missing.
set -eu
export DEBIAN_FRONTEND=noninteractive
# The programs of examples/devices need what stands from python3-qrcode on.
packages='caddy chromium-headless-shell curl nginx-light nodejs openssl prometheus redis-tools redis-server systemd
  python3-oauthlib python3-qrcode qrencode golang-go default-jre-headless libandroid-json-org-java
  luajit lua-socket lua-sec lua-cjson python3-authlib python3-requests'
apt-get --quiet update
# shellcheck disable=SC2086
apt-get --quiet install --yes --no-install-recommends $packages

# Debian 12 has these only in later suites.
command -v valkey-server >/dev/null && command -v micropython >/dev/null && exit
if ! grep -q '^VERSION_CODENAME=bookworm$' /etc/os-release; then
  apt-get --quiet install --yes --no-install-recommends valkey-server micropython
  exit
fi
# Read with lists of their own, so those of the machine stay unchanged.
folder=$(mktemp -d)
mkdir -p "$folder/lists/partial"
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' | awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
set -- -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/lists"
use_suites() {
  for each in "$@"; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $each main"
  done >"$folder/sources.list"
}
use_suites bookworm bookworm-backports
apt-get --quiet "$@" update
apt-get --quiet "$@" install --yes --no-install-recommends --target-release bookworm-backports valkey-server

# With its own C library, so it is run by the loader of that.
use_suites trixie
apt-get --quiet "$@" update
mkdir -p "$folder/packages" /opt/micropython
cd "$folder/packages"
apt-get --quiet "$@" download micropython libc6 libffi8 libmbedcrypto16 libmbedtls21 libmbedx509-7
for each in *.deb; do dpkg-deb --extract "$each" /opt/micropython; done
cat >/usr/local/bin/micropython <<'END'
#!/bin/sh
libraries=$(dirname /opt/micropython/usr/lib/*/libc.so.6)
exec "$libraries"/ld-linux*.so.* --library-path "$libraries" /opt/micropython/usr/bin/micropython "$@"
END
chmod +x /usr/local/bin/micropython
rm -rf "$folder"
