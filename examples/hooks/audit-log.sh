#!/bin/sh
# Writes each event it is given to a file, one JSON object per line, and keeps
# the last five files of 10 MB.
#
# Event: PreToolUse
# Matcher: *
# Event: PostToolUse
# Matcher: *
# Install: hookspan hooks add --event PostToolUse --matcher '*' -- ~/agent-hooks/audit-log.sh
#
# Arguments: the file, and its largest size in bytes. Without them:
# ~/.local/state/agent-audit/audit.jsonl. It holds what the agent sees, secrets
# included; only you can read it.
log=${1:-${XDG_STATE_HOME:-${HOME:-/nonexistent}/.local/state}/agent-audit/audit.jsonl}
max=${2:-10000000}
umask 077

fail() {
  printf 'audit-log.sh: %s\n' "$1" >&2
  exit 1 # not 2, which would block the agent
}

# A JSON text has line ends between its strings only, where they mean nothing.
event=$(LC_ALL=C tr -d '\r\n')
case $event in
'{'*'}') ;;
*) fail 'the input is no JSON object' ;;
esac
mkdir -p -- "$(dirname -- "$log")" 2>/dev/null || fail "cannot make the folder of $log"

# Hooks run side by side. A lock that is held for long was left behind.
tries=0
until mkdir -- "$log.lock" 2>/dev/null; do
  tries=$((tries + 1))
  [ "$tries" -gt 50 ] && break
  sleep 0.1 2>/dev/null || sleep 1
done
trap 'rmdir -- "$log.lock" 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM

if [ -f "$log" ] && [ "$(wc -c <"$log")" -ge "$max" ]; then
  for n in 4 3 2 1; do
    [ -f "$log.$n" ] && mv -f -- "$log.$n" "$log.$((n + 1))"
  done
  mv -f -- "$log" "$log.1"
fi
{ printf '{"at":"%s","event":%s}\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$event" >>"$log"; } 2>/dev/null || fail "cannot write to $log"
exit 0
