#!/bin/sh
# Runs the tests of packages, built for Windows, under Wine 10:
#
#	tests/windows.sh [-r RUN] PACKAGE...
#
# Wine is Debian trixie's, in a root folder that debootstrap makes once and that
# stays in the cache folder. It needs root: for the folder, and for a mount
# namespace in which the tests see the checkout. A package whose tests fail is
# named at the end, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hookspan-tests
root=$cache/wine-trixie

if [ "$(id -u)" != 0 ]; then
	echo "windows: only root can make the folder that Wine runs in" >&2
	exit 1
fi
if [ ! -d "$root" ]; then
	command -v debootstrap >/dev/null || { apt-get update && apt-get install -y --no-install-recommends debootstrap; } >/dev/null 2>&1
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/.wine-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	chmod 755 "$work"
	echo "windows: unpacking Debian trixie's Wine into $root, which takes about two minutes and 1.4 GB"
	debootstrap --variant=minbase --include=wine64 trixie "$work" http://deb.debian.org/debian >"$cache/wine.log" 2>&1 ||
		{ echo "windows: debootstrap failed, see $cache/wine.log" >&2; exit 1; }
	rm -rf "$work"/var/cache/apt/archives/*.deb
	mv "$work" "$root"
fi

run=.
if [ "${1:-}" = -r ]; then
	run=$2
	shift 2
fi
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
list=$build/list
for package in $(go list "$@"); do
	name=$(echo "${package#github.com/hookspan/hookspan/}" | tr / _).exe
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go test -c -o "$build/$name" "$package"
	if [ -e "$build/$name" ]; then
		GOOS=windows go list -f "$name {{.Dir}}" "$package" >>"$list"
	fi
done

# The namespace ends with the shell, and what is mounted in it with the namespace.
export root build run list
unshare --mount --pid --fork --kill-child sh -euc '
	mkdir -p "$root/src" "$root/build" "$root/proc" "$root/prefix"
	mount --bind "$PWD" "$root/src"
	mount --bind "$build" "$root/build"
	mount -t proc proc "$root/proc"
	mount -t tmpfs tmpfs "$root/tmp"
	echo "127.0.0.1 localhost" >"$root/etc/hosts"
	failed=
	while read -r name dir; do
		echo "=== $name"
		if ! timeout 600 chroot "$root" env -i LANG=C.UTF-8 HOME=/tmp PATH=/usr/bin:/bin WINEPREFIX=/prefix WINEDEBUG=-all sh -c "cd \"/src/${dir#"$PWD"}\" && /usr/lib/wine/wine64 \"/build/$name\" -test.short -test.timeout 9m -test.run \"$run\"" </dev/null; then
			failed="$failed ${name%.exe}"
		fi
	done <"$list"
	if [ -n "$failed" ]; then
		echo "windows: failed:$failed"
		exit 1
	fi
	echo "windows: all passed"
'
