#!/bin/sh
# Publishes the npm packages of the release in folder $1. May be repeated after a failure: npm takes a version
# only once, so one that is there is left.
set -eu
for package in "$1"/*.tgz; do
  manifest=$(tar -xOf "$package" package/package.json)
  version=$(printf %s "$manifest" | node -p 'const { name, version } = JSON.parse(fs.readFileSync(0)); `${name}@${version}`')
  if npm view "$version" version >/dev/null 2>&1; then
    echo "$version is published already"
  else
    # The provenance says from which commit and by which workflow it was built.
    npm publish "$package" --access=public --provenance
  fi
done
