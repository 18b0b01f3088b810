#!/bin/sh
# Runs the tests when the agent says that it is done, and sends it back to work
# once if they fail.
#
# Event: Stop
# Install: hookspan hooks add --event Stop --timeout 20 -- ~/agent-hooks/tests-before-finish.sh make test
#
# Arguments: the command that runs the tests; it runs in the project's folder.
# Cline has finished when this runs: there the failure reaches the model in the
# session's next step, and the editors give all hooks 25 s together.
if [ $# -eq 0 ]; then
  echo 'tests-before-finish.sh: want the command that runs the tests' >&2
  exit 1
fi
here=$(dirname -- "$0")
# Sent back already: asking again could go on for ever.
[ "$("$here/jsonget" stop_hook_active)" = true ] && exit 0
cd -- "${CLAUDE_PROJECT_DIR:-.}" 2>/dev/null || exit 1
command -v "$1" >/dev/null 2>&1 || {
  printf 'tests-before-finish.sh: %s is not installed\n' "$1" >&2
  exit 1
}

said=$("$@" </dev/null 2>&1) && exit 0
printf 'The tests fail (%s). Mend them before you finish:\n' "$*" >&2
printf '%s\n' "$said" | tail -n 40 | tail -c 6000 >&2
exit 2
