#!/bin/sh
# Keeps edits inside the project: what lies elsewhere, behind ".." or behind a
# link that leads out, is refused.
#
# Event: PreToolUse
# Matcher: Edit|Write|NotebookEdit
# Install: hookspan hooks add --event PreToolUse --matcher 'Edit|Write|NotebookEdit' -- ~/agent-hooks/stay-inside.sh
#
# Arguments are more folders that may be written to, for instance /tmp. The
# project is CLAUDE_PROJECT_DIR. It sees the tools that edit files, not commands.
here=$(dirname -- "$0")
unset CDPATH
file=$("$here/jsonget" tool_input.file_path tool_input.notebook_path && printf .)
case $? in
0) file=${file%.} ;;
1) exit 0 ;;
*) echo "blocked: stay-inside.sh cannot read its input" >&2; exit 2 ;;
esac

refuse() {
  printf 'blocked: %s %s\n' "$file" "$1" >&2
  exit 2
}

# where DIR: what a folder is called once all links are followed, with a dot
# behind it so that no newline at its end is lost.
where() { (cd -P -- "$1" 2>/dev/null && printf '%s.' "$PWD"); }

case $file in
/*) ;;
*) file=${CLAUDE_PROJECT_DIR:-$PWD}/$file ;;
esac
[ -L "$file" ] && refuse "is a link; name the file that it leads to"

# The deepest folder of the path that exists decides; what is below it does not
# exist yet and so cannot be a link.
dir=${file%/*}
rest=${file##*/}
while [ -n "$dir" ] && [ ! -d "$dir" ]; do
  [ -e "$dir" ] || [ -L "$dir" ] && refuse "goes through something that is no folder"
  rest=${dir##*/}/$rest
  dir=${dir%/*}
done
case /$rest/ in
*/../*) refuse "goes up from a folder that does not exist" ;;
esac
real=$(where "${dir:-/}") || refuse "lies in a folder that cannot be entered"
real=${real%.}

for root in "${CLAUDE_PROJECT_DIR:-$PWD}" "$@"; do
  root=$(where "$root") || continue
  root=${root%.}
  case ${real%/}/ in
  "${root%/}"/*) exit 0 ;;
  esac
done
refuse "lies outside the project"
