#!/bin/sh
# Installs the npm packages of package-lock.json, unless they are there, for
# tests/dashboards/test_schema.py: 26 MB, once on a machine. They lie outside the tree, in a folder
# named by what decides which they are; it appears whole. script/test calls it.
#
#   install.sh           installs, and prints the folder
#   install.sh --path    only prints it; exits 1 where it is not there
set -eu
here=$(cd "$(dirname "$0")" && pwd)
key=$(cat "$here/package.json" "$here/package-lock.json" | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/benchd
folder=$cache/grafana-schema-$key
echo "$folder"
[ ! -d "$folder" ] || exit 0
[ "${1-}" != --path ] || exit 1

mkdir -p "$cache"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$work"
(cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
chmod 755 "$work"
mv -T "$work" "$folder" 2>/dev/null || [ -d "$folder" ] # another was as quick
