#!/bin/sh
# Installs what some tests use: a keyring to keep a secret in, a Prometheus, a
# browser, and what installs packages. Without one, its tests say so and are skipped.
set -eu
export DEBIAN_FRONTEND=noninteractive

# The package lists may be missing or out of date; only root can mend that.
updated=
update() {
	if [ -z "$updated" ] && [ "$(id -u)" = 0 ]; then
		updated=1
		apt-get update >/dev/null 2>&1 || true
	fi
}

bring_keyring() {
	if command -v gnome-keyring-daemon >/dev/null && command -v dbus-run-session >/dev/null; then
		return
	fi
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "setup: no keyring on this machine (packages dbus and gnome-keyring): its test will be skipped"
		return
	fi
	update
	if ! apt-get install -y --no-install-recommends dbus gnome-keyring >/dev/null 2>&1; then
		echo "setup: apt-get could not install dbus and gnome-keyring: the keyring's test will be skipped"
	fi
}

# The package is unpacked, not installed: an installed one would start a service.
# That needs no root either.
bring_prometheus() {
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/hookspan-tests
	if command -v prometheus >/dev/null || [ -x "$cache/prometheus/usr/bin/prometheus" ]; then
		return
	fi
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		echo "setup: no prometheus on this machine: the dashboard's queries will not be asked"
		return
	fi
	update
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/.prometheus-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	if (cd "$work" && apt-get download prometheus && dpkg-deb -x prometheus_*.deb unpacked) >/dev/null 2>&1; then
		mv "$work/unpacked" "$cache/prometheus"
	else
		echo "setup: apt-get could not download prometheus: the dashboard's queries will not be asked"
	fi
}

# Chromium without its windows is for the page's tests; not every system has it.
bring_browser() {
	for browser in chromium chromium-headless-shell; do
		if command -v "$browser" >/dev/null; then
			continue
		fi
		if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
			echo "setup: no $browser on this machine: without both no page will be opened"
			continue
		fi
		update
		if ! apt-get install -y --no-install-recommends "$browser" >/dev/null 2>&1; then
			echo "setup: apt-get could not install $browser: without both no page will be opened"
		fi
	done
}

bring_packagers() {
	if command -v rpm >/dev/null && command -v debootstrap >/dev/null; then
		return
	fi
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "setup: no rpm or debootstrap on this machine: packages will not be installed"
		return
	fi
	update
	if ! apt-get install -y --no-install-recommends rpm debootstrap >/dev/null 2>&1; then
		echo "setup: apt-get could not install rpm and debootstrap: packages will not be installed"
	fi
}

bring_keyring
bring_packagers
bring_prometheus
bring_browser
