#!/bin/sh
# Writes the addresses of the repository OWNER/NAME ($1) on GitHub where examples stand for them, in every file that
# git tracks: those of the source, of the documentation on GitHub Pages, and of the image in GitHub's registry.
set -eu
small=$(printf %s "$1" | tr '[:upper:]' '[:lower:]')
git ls-files -z -- . ':!scripts/set-addresses.sh' ':!test' ':!*.png' | xargs -0 sed -i "
  s,<this repository>,https://github.com/$1.git,g
  s,repository[.]example/sign-in-relay,github.com/$1,g
  s,sign-in-relay[.]example,${small%/*}.github.io/${1#*/},g
  s,registry[.]example/sign-in-relay,ghcr.io/$small,g"
