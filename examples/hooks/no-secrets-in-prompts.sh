#!/bin/sh
# Stops a prompt that holds what looks like a key or a token, before a model
# gets to see it.
#
# Event: UserPromptSubmit
# Install: hookspan hooks add --event UserPromptSubmit -- ~/agent-hooks/no-secrets-in-prompts.sh
#
# It knows keys of well-known forms only. Cline's CLI 3 does not ask about
# prompts; see docs/hooks.md.
here=$(dirname -- "$0")
prompt=$("$here/jsonget" prompt && printf .)
case $? in
0) prompt=${prompt%.} ;;
1) exit 0 ;;
*) echo "blocked: no-secrets-in-prompts.sh cannot read its input" >&2; exit 2 ;;
esac

# look NAME EXPRESSION: a key begins where a word does.
look() {
  printf '%s\n' "$prompt" | LC_ALL=C grep -Eq -e "(^|[^A-Za-z0-9_-])($2)" || return 0
  # The key itself is not repeated: this text may be logged.
  printf 'blocked: the prompt holds what looks like %s. Take it out, and replace the key if it was sent before.\n' "$1" >&2
  exit 2
}

look 'a private key' '-----BEGIN [A-Z ]*PRIVATE KEY-----'
look 'an AWS access key' '(AKIA|ASIA)[0-9A-Z]{16}'
look 'a GitHub token' '(gh[pousr]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{22})'
look 'a GitLab token' 'glpat-[0-9A-Za-z_-]{20}'
look 'an Anthropic key' 'sk-ant-[0-9A-Za-z_-]{20}'
look 'an OpenAI key' 'sk-(proj-|svcacct-)?[0-9A-Za-z_-]{32}'
look 'a Slack token' 'xox[abposr]-[0-9A-Za-z-]{10}'
look 'a Google API key' 'AIza[0-9A-Za-z_-]{35}'
look 'a Stripe key' '[rs]k_live_[0-9A-Za-z]{20}'
look 'an npm token' 'npm_[0-9A-Za-z]{36}'
exit 0
