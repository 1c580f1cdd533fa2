#!/bin/sh
# Fetch axe-core from npm for the tests of accessibility, if this machine lets us; never fail.
# The tests look for it in $AXE, or in .venv/share/axe.min.js, and are skipped where it is not.

version=4.14.0
target="$(dirname "$0")/../.venv/share/axe.min.js"
[ -n "${AXE:-}" ] && exit 0
[ -f "$target" ] && exit 0

folder=$(mktemp -d)
if mkdir -p "$(dirname "$target")" && command -v npm >/dev/null 2>&1 \
  && (cd "$folder" && npm pack --silent "axe-core@$version" >/dev/null 2>&1 && tar xzf ./*.tgz) \
  && cp "$folder/package/axe.min.js" "$target"; then
  echo "axe: fetched $version"
else
  echo "axe: npm could not fetch it; the tests of accessibility will be skipped"
fi
rm -rf "$folder"
exit 0
