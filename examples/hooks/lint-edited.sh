#!/bin/sh
# Runs a linter on a file after the agent has written it and tells the agent
# what it found.
#
# Event: PostToolUse
# Matcher: Edit|Write
# Install: hookspan hooks add --event PostToolUse --matcher 'Edit|Write' --timeout 20 -- ~/agent-hooks/lint-edited.sh '*.sh' shellcheck
#
# Arguments: a pattern of file names, then the linter and its own arguments; the
# file comes last. Exit code 2 of this event undoes nothing: it hands standard
# error to the agent.
if [ $# -lt 2 ]; then
  echo "lint-edited.sh: want PATTERN LINTER [ARGUMENT...]" >&2
  exit 1
fi
pattern=$1
shift
here=$(dirname -- "$0")
file=$("$here/jsonget" tool_input.file_path && printf .) || exit 0
file=${file%.}
case $file in
/*) ;;
*) file=./$file ;;
esac
# shellcheck disable=SC2254 # It is a pattern.
case ${file##*/} in
$pattern) ;;
*) exit 0 ;;
esac
[ -f "$file" ] || exit 0
if ! command -v "$1" >/dev/null 2>&1; then
  printf 'lint-edited.sh: %s is not installed\n' "$1" >&2
  exit 1
fi

found=$("$@" "$file" </dev/null 2>&1) && exit 0
printf '%s: %s found:\n' "$file" "$1" >&2
# Enough to work on; the rest comes after the next edit.
printf '%s\n' "$found" | head -n 40 | head -c 6000 >&2
exit 2
