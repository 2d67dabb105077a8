#!/bin/sh
# Places the executables of the release in folder $1 into folder $2, as deploy/Dockerfile takes them in place
# of its stage `executable`: docker build --build-context executable=$2.
set -eu
mkdir -p "$2"
cp "$1"/sign-in-relay-*-linux-x64-baseline "$2/sign-in-relay-amd64"
cp "$1"/sign-in-relay-*-linux-arm64 "$2/sign-in-relay-arm64"
# A file that came through a workflow's artifact has lost its mode.
chmod 755 "$2"/sign-in-relay-*
