#!/bin/sh
# Prints which tests a run has left out, from the file $HOOKSPAN_TEST_SKIPS.
set -eu
if [ ! -s "$HOOKSPAN_TEST_SKIPS" ]; then
	echo "No test was left out."
	exit
fi
sort -u "$HOOKSPAN_TEST_SKIPS" >"$HOOKSPAN_TEST_SKIPS.sorted"
echo "$(wc -l <"$HOOKSPAN_TEST_SKIPS.sorted") tests were left out:"
sed 's/^/  /' "$HOOKSPAN_TEST_SKIPS.sorted"
