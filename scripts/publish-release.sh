#!/bin/sh
# Publishes the files in folder $2 as the release of tag $1, with the notes in file $3. May be repeated after a
# failure. Nobody sees the release before all of its files are there.
set -eu
gh release view "$1" >/dev/null 2>&1 ||
  gh release create "$1" --draft --verify-tag --title "$1" --notes-file "$3"
gh release upload "$1" "$2"/* --clobber
gh release edit "$1" --draft=false
