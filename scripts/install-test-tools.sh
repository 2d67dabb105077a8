#!/bin/sh
# Installs the programs that the tests run, on Debian as root. `npm test` calls it when one is missing.
set -eu
export DEBIAN_FRONTEND=noninteractive
# The programs of examples/devices need what stands from python3-qrcode on.
packages='caddy chromium-headless-shell curl nginx-light nodejs openssl prometheus redis-tools redis-server bsdutils systemd
  python3-oauthlib python3-qrcode qrencode golang-go default-jre-headless libandroid-json-org-java'
apt-get --quiet update
# shellcheck disable=SC2086
apt-get --quiet install --yes --no-install-recommends $packages

# Debian 12 has it only in a later suite.
command -v valkey-server >/dev/null && exit
if ! grep -q '^VERSION_CODENAME=bookworm$' /etc/os-release; then
  apt-get --quiet install --yes --no-install-recommends valkey-server
  exit
fi
# Read with lists of their own, so those of the machine stay unchanged.
folder=$(mktemp -d)
mkdir -p "$folder/lists/partial"
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' | awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
for each in bookworm bookworm-backports; do
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $each main"
done >"$folder/sources.list"
set -- -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/lists"
apt-get --quiet "$@" update
apt-get --quiet "$@" install --yes --no-install-recommends --target-release bookworm-backports valkey-server
rm -rf "$folder"
