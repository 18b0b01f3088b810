#!/bin/sh
# Installs what some tests use where it is at hand: a keyring to keep a secret
# in. Without it those tests say so and are skipped.
set -eu
if command -v gnome-keyring-daemon >/dev/null && command -v dbus-run-session >/dev/null; then
	exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "setup: no keyring on this machine (packages dbus and gnome-keyring): its test will be skipped"
	exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends dbus gnome-keyring; } >/dev/null 2>&1; then
	echo "setup: apt-get could not install dbus and gnome-keyring: the keyring's test will be skipped"
fi
