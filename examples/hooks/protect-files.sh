#!/bin/sh
# Keeps edits away from files that an agent should not touch: secrets, lock
# files, what git keeps of its own.
#
# Event: PreToolUse
# Matcher: Edit|Write|NotebookEdit
# Install: hookspan hooks add --event PreToolUse --matcher 'Edit|Write|NotebookEdit' -- ~/agent-hooks/protect-files.sh
#
# Arguments are patterns of file names that replace the list below, for instance
# '*.sql' 'go.sum'. Upper and lower case are one. A link counts as what it
# leads to, too. It sees the tools that edit files; a command such as
# "echo > .env" is none of them.
here=$(dirname -- "$0")
unset CDPATH
file=$("$here/jsonget" tool_input.file_path tool_input.notebook_path && printf .)
case $? in
0) file=${file%.} ;;
1) exit 0 ;;
*) echo "blocked: protect-files.sh cannot read its input" >&2; exit 2 ;;
esac

if [ $# -eq 0 ]; then
  set -- '.env' '.env.*' '*.pem' '*.key' 'id_rsa*' 'id_ed25519*' '.netrc' '.npmrc' \
    'package-lock.json' 'yarn.lock' 'pnpm-lock.yaml' 'cargo.lock' 'go.sum' 'poetry.lock' 'uv.lock' 'gemfile.lock' 'composer.lock'
fi

lower() { printf '%s.' "$1" | LC_ALL=C tr '[:upper:]' '[:lower:]'; }

# check PATH PATTERN...: ends the script where the path is protected.
check() {
  path=$(lower "$1")
  path=${path%.}
  shift
  name=${path##*/}
  case /$path in
  */.git/*) printf 'blocked: %s belongs to git itself\n' "$file" >&2; exit 2 ;;
  esac
  case $name in
  .env.example | .env.sample | .env.template) return ;;
  esac
  for pattern in "$@"; do
    pattern=$(lower "$pattern")
    pattern=${pattern%.}
    # shellcheck disable=SC2254 # It is a pattern.
    case $name in
    $pattern) printf 'blocked: %s is protected (%s). Ask the user to change it.\n' "$file" "$pattern" >&2; exit 2 ;;
    esac
  done
}

check "$file" "$@"
# The folder may go by another name, and so may the file.
case $file in
/*/*)
  real=$(cd -P -- "${file%/*}" 2>/dev/null && printf '%s.' "$PWD") && check "${real%.}/${file##*/}" "$@"
  ;;
esac
if [ -L "$file" ]; then
  real=$(readlink -f -- "$file" 2>/dev/null && printf .) || {
    printf 'blocked: %s is a link that cannot be followed\n' "$file" >&2
    exit 2
  }
  real=${real%.}
  check "${real%?}" "$@" # less the newline that readlink prints
fi
exit 0
