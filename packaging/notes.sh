#!/bin/sh
# Prints the section of CHANGELOG.md for a version, without its heading:
#
#	packaging/notes.sh VERSION
set -eu
awk -v heading="## [${1#v}]" '
	index($0, heading) == 1 { inside = found = 1; next }
	/^## / { inside = 0 }
	inside { print }
	END { if (!found) { print "notes: CHANGELOG.md has no section " heading >"/dev/stderr"; exit 1 } }
' "$(dirname "$0")/../CHANGELOG.md"
