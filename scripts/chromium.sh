#!/bin/sh
# Install Debian's chromium for the browser tests, if this machine lets us; never fail.
# The tests look for it on the path (or in $CHROMIUM) and are skipped where it is not.

for name in chromium chromium-browser google-chrome chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
[ -n "${CHROMIUM:-}" ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "chromium: not installed (needs root and apt-get); the browser tests will be skipped"
  exit 0
fi

export DEBIAN_FRONTEND=noninteractive
if apt-get update -qq >/dev/null 2>&1 \
  && apt-get install -y -qq --no-install-recommends chromium fonts-liberation >/dev/null 2>&1; then
  echo "chromium: installed"
else
  echo "chromium: apt-get could not install it; the browser tests will be skipped"
fi
exit 0
