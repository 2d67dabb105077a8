#!/bin/sh
# Writes the version $1 into both packages, and where the image and the files of a release are named.
set -eu
old=$(npm pkg get version | tr -d '"' | sed 's/[.]/[.]/g')
npm pkg set version="$1"
npm pkg set version="$1" --prefix client
npm install --package-lock-only --ignore-scripts --silent
sed -i "s/$old/$1/g" deploy/*.yaml docs/install.md
