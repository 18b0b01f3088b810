#!/bin/sh
# Formats a file after the agent has written it, with the formatter of its kind
# where that is installed. It never blocks and says nothing.
#
# Event: PostToolUse
# Matcher: Edit|Write
# Install: hookspan hooks add --event PostToolUse --matcher 'Edit|Write' --timeout 20 -- ~/agent-hooks/format-edited.sh
#
# A formatter may run what the project configures (prettier's plugins, for
# instance). Leave it out for projects that you do not trust.
here=$(dirname -- "$0")
file=$("$here/jsonget" tool_input.file_path && printf .) || exit 0
file=${file%.}

# A relative path could begin with "-" and be taken for an option.
case $file in
/*) ;;
*) file=./$file ;;
esac
[ -f "$file" ] && [ ! -L "$file" ] || exit 0

have() { command -v "$1" >/dev/null 2>&1; }
quietly() { "$@" </dev/null >/dev/null 2>&1; }

case $file in
*.go) have gofmt && quietly gofmt -w "$file" ;;
*.rs) have rustfmt && quietly rustfmt "$file" ;;
*.py)
  if have ruff; then quietly ruff format "$file"; elif have black; then quietly black -q "$file"; fi
  ;;
*.sh) have shfmt && quietly shfmt -w "$file" ;;
*.c | *.h | *.cc | *.cpp | *.hpp) have clang-format && quietly clang-format -i "$file" ;;
*.js | *.jsx | *.ts | *.tsx | *.css | *.html | *.json | *.yaml | *.yml | *.md)
  have prettier && quietly prettier --write "$file"
  ;;
esac
exit 0
