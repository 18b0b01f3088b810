#!/bin/sh
# Shows a notification on the desktop when the agent wants you or is done.
# Silent where there is nothing to show it with.
#
# Event: Notification
# Event: Stop
# Install: hookspan hooks add --event Notification --async -- ~/agent-hooks/notify.sh
#
# Newer versions of Cline send no Notification; Stop comes from all.
here=$(dirname -- "$0")
payload=$(cat)
get() { printf '%s' "$payload" | "$here/jsonget" "$1"; }

title='Coding agent'
case $(get hook_event_name) in
Stop) text='The task is done.' ;;
*) text=$(get message | LC_ALL=C tr '\n' ' ' | LC_ALL=C tr -d '\000-\037\177' | head -c 1000) ;;
esac
[ -n "$text" ] || text='The agent wants your attention.'
project=${CLAUDE_PROJECT_DIR:-}
project=${project##*/}

# The message is somebody else's text. It is never part of a script, and comes
# after what ends the options.
if command -v osascript >/dev/null 2>&1; then
  osascript -e 'on run argv' -e 'display notification (item 3 of argv) with title (item 1 of argv) subtitle (item 2 of argv)' -e 'end run' \
    "$title" "$project" "$text" </dev/null >/dev/null 2>&1
elif command -v notify-send >/dev/null 2>&1; then
  # Many desktops read the text as markup.
  body=$(printf '%s' "${project:+$project: }$text" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g')
  notify-send -- "$title" "$body" </dev/null >/dev/null 2>&1
fi
exit 0
