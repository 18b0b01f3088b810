#!/bin/sh
# Writes what goes into the packages beside the programs into .cache/release:
# manual pages, completions and the manifests of the npm packages.
#
#	packaging/prepare.sh VERSION SECONDS
#
# SECONDS is the time of the commit; the same arguments give the same bytes.
set -eu
cd "$(dirname "$0")/.."
version=$1
out=.cache/release
rm -rf "$out"
mkdir -p "$out/man" "$out/completions"
SOURCE_DATE_EPOCH=$2 go test -count=1 ./cmd/hookspan -run '^TestManual$' -manual "$PWD/$out" -release "v$version" >&2

# manifest FOLDER prints the members that all packages share, and then standard input.
manifest() {
	mkdir -p "$1"
	{
		printf '{\n  "version": "%s",\n' "$version"
		cat <<'JSON'
  "description": "See what your coding agent did, as OpenTelemetry traces",
  "license": "Apache-2.0",
  "homepage": "https://github.com/hookspan/hookspan",
  "repository": {"type": "git", "url": "git+https://github.com/hookspan/hookspan.git"},
JSON
		cat
	} >"$1/package.json"
}

optional=
for platform in linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64 windows-arm64; do
	os=${platform%-*} cpu=${platform#*-}
	[ "$os" != windows ] || os=win32
	[ "$cpu" != amd64 ] || cpu=x64
	manifest "$out/npm/$platform" <<JSON
  "name": "@hookspan/$os-$cpu",
  "os": ["$os"],
  "cpu": ["$cpu"],
  "preferUnplugged": true
}
JSON
	optional="$optional${optional:+,
}    \"@hookspan/$os-$cpu\": \"$version\""
done
manifest "$out/npm" <<JSON
  "name": "hookspan",
  "keywords": ["cline", "claude-code", "codex", "hooks", "opentelemetry", "tracing"],
  "bin": {"hookspan": "bin/hookspan.js", "cline-hook": "bin/cline-hook.js", "claude-hook": "bin/claude-hook.js"},
  "engines": {"node": ">=16"},
  "optionalDependencies": {
$optional
  }
}
JSON
