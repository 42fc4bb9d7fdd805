#!/bin/sh
# Makes the Python environment of the site from requirements.txt, whose hashes pip checks, unless it is there: 110 MB, once
# on a machine. It lies outside the tree, in a folder named by what decides which it is; it appears whole.
# script/docs and script/test call it.
#
#   install.sh           installs, and prints the folder
#   install.sh --path    only prints it; exits 1 where it is not there
set -eu
here=$(cd "$(dirname "$0")" && pwd)
key=$( (python3 --version && cat "$here/requirements.txt") | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/benchd
folder=$cache/docs-$key
echo "$folder"
[ ! -d "$folder" ] || exit 0
[ "${1-}" != --path ] || exit 1

mkdir -p "$cache"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work" >&2
"$work/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$here/requirements.txt" >&2
chmod 755 "$work"
mv -T "$work" "$folder" 2>/dev/null || [ -d "$folder" ] # another was as quick
