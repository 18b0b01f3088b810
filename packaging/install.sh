#!/bin/sh
# Installs hookspan's programs from a release, for this user:
#
#	curl -fsSL https://github.com/hookspan/hookspan/releases/latest/download/install.sh | sh
#
# HOOKSPAN_BIN is the folder for the programs, ~/.local/bin if it is not set.
# HOOKSPAN_FROM is the address of the release's files. An archive that is not
# the one that checksums.txt names is not unpacked.
set -eu
umask 022 # Programs that others can write to would be theirs.

fail() {
	echo "install: $1" >&2
	exit 1
}

# fetch ADDRESS FILE
fetch() {
	if command -v curl >/dev/null; then
		curl -fsSL -o "$2" "$1"
	elif command -v wget >/dev/null; then
		wget -qO "$2" "$1"
	else
		fail "curl or wget is needed"
	fi || fail "$1: cannot be downloaded"
}

sum() {
	if command -v sha256sum >/dev/null; then
		sha256sum "$1"
	elif command -v shasum >/dev/null; then
		shasum -a 256 "$1"
	else
		fail "sha256sum or shasum is needed to check the download"
	fi | cut -d ' ' -f 1
}

# The shell has read the whole script when this runs.
main() {
	from=${HOOKSPAN_FROM:-https://github.com/hookspan/hookspan/releases/latest/download}
	bin=${HOOKSPAN_BIN:-$HOME/.local/bin}

	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there are programs for Linux and macOS, not for $(uname -s): for Windows use install.ps1" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there are programs for x86-64 and arm64, not for $(uname -m)" ;;
	esac

	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
	fetch "$from/checksums.txt" "$work/checksums.txt"
	line=$(grep -E "^[0-9a-f]{64}  hookspan_[0-9A-Za-z.+~-]+_${os}_${arch}\.tar\.gz\$" "$work/checksums.txt") ||
		fail "$from/checksums.txt: names no archive for $os on $arch"
	[ "$(echo "$line" | wc -l)" -eq 1 ] || fail "$from/checksums.txt: names several archives for $os on $arch"
	archive=${line##* }
	fetch "$from/$archive" "$work/$archive"
	got=$(sum "$work/$archive")
	[ "$got" = "${line%% *}" ] || fail "$archive: the SHA-256 is $got, checksums.txt has ${line%% *}: nothing is installed"

	mkdir "$work/new"
	tar -xzf "$work/$archive" -C "$work/new"
	mkdir -p "$bin"
	set -- hook-runner cline-hook claude-hook hookspan
	for program in "$@"; do
		[ ! -d "$bin/$program" ] || fail "$bin/$program is a folder, want a program or nothing: move it away; nothing is installed"
	done
	# A program that runs is replaced, never written to. The new one gets a name that is
	# not there yet, so that nobody's file or link is written through.
	for program in "$@"; do
		new=$(mktemp "$bin/.$program.XXXXXXXX")
		cat "$work/new/$program" >"$new"
		chmod 755 "$new"
		mv -f "$new" "$bin/$program"
	done

	echo "$("$bin/hookspan" --version) is in $bin"
	case ":$PATH:" in
	*":$bin:"*) echo "Next: hookspan install" ;;
	*) echo "Next: add $bin to PATH, then run hookspan install" ;;
	esac
}

main
