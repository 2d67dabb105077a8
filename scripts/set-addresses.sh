#!/bin/sh
# Writes the addresses of the repository OWNER/NAME ($1) on GitHub in place of those that package.json and deploy/ have,
# in every file that git tracks: of the source, of the documentation on GitHub Pages, of the image in GitHub's registry.
set -eu
source=$(npm pkg get repository.url | sed 's,.*://\(.*\)\.git",\1,')
site=$(npm pkg get homepage | tr -d '"')
image=$(sed -n 's,^  image: \(.*\):.*,\1,p' deploy/compose.yaml)
small=$(printf %s "$1" | tr '[:upper:]' '[:lower:]')
git grep -lzF -e "$source" -e "$site" -e "$image" -e '<this repository>' -- ':!scripts' ':!test' | xargs -0 sed -i "
  s,<this repository>,https://github.com/$1.git,g
  s,$source,github.com/$1,g
  s,$site,https://${small%/*}.github.io/${1#*/},g
  s,$image,ghcr.io/$small,g"
