#!/bin/sh
# Blocks commands that are hard to undo: removal of a whole disk, home or
# project, formatting, raw writes to a disk, a download fed to a shell, a forced
# push, a hard reset, switching the machine off.
#
# Event: PreToolUse
# Matcher: Bash
# Install: hookspan hooks add --event PreToolUse --matcher Bash -- ~/agent-hooks/block-commands.sh
#
# Arguments are more expressions (grep -E) that block, for instance
# 'terraform +destroy'.
#
# It reads a command by its words and takes no part in how the shell will read
# it: quotation marks are dropped, and each part of a pipeline or list counts.
# So it takes text that says "; rm -rf /" for the deed, and cannot see through
# variables or an encoded command. It is a belt, not a sandbox.
here=$(dirname -- "$0")
command=$("$here/jsonget" tool_input.command && printf .)
case $? in
0) command=${command%.} ;;
1) exit 0 ;;
*) echo "blocked: block-commands.sh cannot read its input" >&2; exit 2 ;;
esac

for expression in "$@"; do
  if printf '%s\n' "$command" | grep -Eq -e "$expression"; then
    printf 'blocked: the command matches %s\n' "$expression" >&2
    exit 2
  fi
done

why=$(printf '%s\n' "$command" | LC_ALL=C awk '
# whole reports whether a path is more than one would ever remove on purpose.
function whole(t) {
  gsub(/\/+/, "/", t)
  while (gsub(/\/\.\//, "/", t));
  while (t ~ /^\.\/./) t = substr(t, 3)
  if (t ~ /.\/\.?$/) sub(/\/\.?$/, "", t)
  if (t ~ /^[\/~$].*\/\.\.(\/|$)/) return 1
  if (t ~ /^(\.|\.\/|\.\.(\/\.\.)*|\*|\.\*|\.\/\*|\.\.\/\*|\/|~|~\/\*|\$HOME|\$HOME\/\*|\$PWD|\$PWD\/\*)$/) return 1
  if (t ~ /^\/[^\/]*(\/\*)?$/) return 1
  if (t ~ /^\/(home|Users)\/[^\/]+(\/\*)?$/) return 1
  return home != "" && (t == home || t == home "/*")
}

# deed says what is wrong with the program at word i of n, if anything is.
function deed(i, n,  p, j, deep, bad) {
  p = tolower(word[i]); sub(/.*\//, "", p)
  if (p ~ /^mkfs(\.|$)/ || p == "wipefs") return "it formats a disk"
  if (p ~ /^(shutdown|reboot|halt|poweroff)$/) return "it switches the machine off"
  if (p == "systemctl" && word[i + 1] ~ /^(reboot|poweroff|halt)$/) return "it switches the machine off"
  if (p == "dd") {
    for (j = i + 1; j <= n; j++) if (word[j] ~ /^of=\/dev\// && word[j] !~ /^of=\/dev\/(null|stdout|stderr)$/) return "it writes to a device"
  }
  if (p == "rm" || p == "chmod" || p == "chown") {
    for (j = i + 1; j <= n; j++) {
      if (word[j] == "--no-preserve-root") return "it removes the root of the file system"
      if (word[j] ~ /^-[A-Za-z]*[rR]/ || word[j] == "--recursive") deep = 1
      else if (word[j] !~ /^-/ && whole(word[j])) bad = word[j]
    }
    if (deep && bad != "") return p " goes through all of " bad
  }
  if (p == "git") {
    for (j = i + 1; j <= n; j++) {
      if (word[j] == "push") for (; j <= n; j++) if (word[j] ~ /^(--force|-[A-Za-z]*f[A-Za-z]*|\+.*)$/) return "it overwrites the history of the remote; --force-with-lease is allowed"
      if (word[j] == "reset") for (; j <= n; j++) if (word[j] == "--hard") return "it throws away changes"
    }
  }
  return ""
}

{ text = text $0 "\n" }

END {
  home = ENVIRON["HOME"]
  gsub(/\\\n/, "", text)
  gsub(/\$\{?IFS\}?/, " ", text)
  gsub(/\$\{HOME\}/, "$HOME", text)
  gsub(/["\\]/, "", text); gsub("\047", "", text)

  flat = text; gsub(/[ \t\n]/, "", flat)
  if (index(flat, ":(){:|:&};:")) { print "it is a fork bomb"; exit }
  if (text ~ />[ \t]*\/dev\/(sd|hd|vd|xvd|nvme|disk|mmcblk|mapper)/) { print "it writes to a device"; exit }
  shell = "([^ \t]*/)?(ba|da|k|z)?sh"
  if (text ~ ("(curl|wget)[^;&\n]*[|][ \t]*(sudo[ \t]+)?" shell "([ \t\n;&|)]|$)") ||
      text ~ (shell "[ \t]+(-c[ \t]+)?[<$]?[(`][ \t]*(curl|wget)[ \t]")) { print "it runs a program from the network unread"; exit }

  parts = split(text, part, /[;&|()`\n]/)
  for (k = 1; k <= parts; k++) {
    words = split(part[k], word, /[ \t]+/)
    inside = 0
    for (i = 1; i <= words; i++) {
      w = word[i]; sub(/.*\//, "", w)
      if (w == "" || word[i] ~ /^[A-Za-z_][A-Za-z0-9_]*=/) continue
      if (w ~ /^(sudo|doas|env|command|builtin|exec|nohup|time|timeout|nice|xargs|find|parallel|watch|ssh|eval|(ba|da|k|z)?sh|[{!]|if|then|else|elif|do|while|until)$/) { inside = 1; continue }
      why = deed(i, words)
      if (why != "") { print why; exit }
      # After a program that starts another, any word may be that other.
      if (!inside) break
    }
  }
}') || { echo "blocked: block-commands.sh cannot look at the command" >&2; exit 2; }

[ -z "$why" ] && exit 0
printf 'blocked: %s. Ask the user to run it.\n' "$why" >&2
exit 2
