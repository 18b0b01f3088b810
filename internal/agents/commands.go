package agents

// PreToolUseRisk is what the user must know before PreToolUse goes where
// classic Cline reads it.
const PreToolUseRisk = `The PreToolUse hook goes into ~/.cline/hooks alone by default. Where Cline's classic
core reads it, it has a risk. CLI 2: a task stops dead when a later tool reads a
missing file, whatever the hook answers; in VS Code that was not seen. VS Code: a call
that a hook denies leaves Cline stuck until the window is reloaded. Without it a tool's
span begins at its end less the duration that Cline reports, which includes the time
you took to approve it, and a call that never returns has no span.`

func installCline() Command {
	return Command{
		Short: "Let Cline report to hookspan",
		Long: `Write hookspan's hook files into the folders from which Cline reads hooks on this
system. A file that is not hookspan's is never touched; --chain has hookspan run it
as well. hookspan uninstall cline undoes all of it.

` + PreToolUseRisk,
		Flags: map[string]string{
			"force":        "rewrite hookspan hook files that were edited",
			"pre-tool-use": "install PreToolUse for classic Cline too (see above for the risk); where your hooks need it, it stays until --pre-tool-use=false",
			"chain":        "where your hook is in the way, run it too and merge both answers",
			"project":      "install into this project's .clinerules/hooks in place of your own folders",
		},
	}
}

func uninstallCline() Command {
	return Command{
		Short: "Remove hookspan's hooks from Cline and put chained ones back",
		Long: `Remove exactly what hookspan install cline wrote, put chained hooks back as they
were, and leave everything else. Traces and settings stay.`,
		Flags: map[string]string{"force": "remove hookspan hook files that were edited, too"},
	}
}

func installClaude() Command {
	return Command{
		Short: "Let Claude Code report to hookspan",
		Long: `Add hookspan's hooks to Claude Code's settings; --dry-run shows the lines. Your own
hooks, all other settings and the layout of the file stay as they are; the file as it
was is kept beside it. hookspan uninstall claude takes the hooks out again, to the byte.

  --scope user      ~/.claude/settings.json, for all your projects (the default)
  --scope project   .claude/settings.json in the project, which others may share
  --scope local     .claude/settings.local.json in the project, for you alone`,
		Flags: map[string]string{
			"force":   "rewrite hookspan entries that were edited",
			"scope":   "whose settings: user, project or local",
			"project": "the project's folder, for --scope project (which it implies) and local; this folder if not given",
		},
	}
}

func installCodex() Command {
	return Command{
		Short: "Let Codex report to hookspan",
		Long: `Add hookspan's hooks to Codex's hooks.json, at the end of each list; --dry-run shows
the lines. Your own hooks and the layout of the file stay as they are; the file as it was
is kept beside it. hookspan uninstall codex takes the hooks out again, to the byte.

Codex runs a hook only when you trust it: start codex after the install and choose
"Trust all", or type /hooks there. hookspan doctor says whether you have.

  --scope user      ~/.codex/hooks.json, for all your projects (the default)
  --scope project   .codex/hooks.json in the project, which others may share`,
		Flags: map[string]string{
			"force":   "rewrite hookspan entries that were edited",
			"scope":   "whose hooks.json: user or project",
			"project": "the project's folder, for --scope project, which it implies; this folder if not given",
		},
	}
}

func uninstallCodex() Command {
	return Command{
		Short: "Take hookspan's hooks out of Codex's hooks.json",
		Long: `Take out exactly what hookspan install codex put in, from wherever it did, and leave
everything else. --scope and --project limit it. Traces and settings stay.`,
		Flags: map[string]string{
			"force":   "", // accepted as for other agents; edited entries go anyway
			"scope":   "only this hooks.json: user or project",
			"project": "only this project's hooks.json; for --scope project, this folder if not given",
		},
	}
}

func installCopilot() Command {
	return Command{
		Short: "Let the GitHub Copilot CLI report to hookspan",
		Long: `Write hookspan's hooks into a file of their own, ~/.copilot/hooks/hookspan.json;
--dry-run shows it. Your other hooks and settings stay as they are. hookspan uninstall
copilot removes the file.

Copilot denies a call if a hook of it fails. These hooks never fail, even if hookspan is
gone.`,
		Flags: map[string]string{"force": "rewrite hookspan entries that were edited"},
	}
}

func uninstallCopilot() Command {
	return Command{
		Short: "Take hookspan's hooks out of GitHub Copilot",
		Long: `Take out exactly what hookspan install copilot put in, and leave everything else. Traces
and settings stay.`,
		Flags: map[string]string{"force": ""}, // accepted as for other agents; edited entries go anyway
	}
}

func installGemini() Command {
	return Command{
		Short: "Let the Gemini CLI report to hookspan",
		Long: `Add hookspan's hooks to the Gemini CLI's settings; --dry-run shows the lines. Your own
hooks, all other settings, comments and the layout of the file stay as they are; the
file as it was is kept beside it. hookspan uninstall gemini takes the hooks out again,
to the byte. The Gemini CLI runs a project's hooks only in a folder that you trust.

  --scope user      ~/.gemini/settings.json, for all your projects (the default)
  --scope project   .gemini/settings.json in the project, which others may share`,
		Flags: map[string]string{
			"force":   "rewrite hookspan entries that were edited",
			"scope":   "whose settings: user or project",
			"project": "the project's folder, for --scope project, which it implies; this folder if not given",
		},
	}
}

func uninstallGemini() Command {
	return Command{
		Short: "Take hookspan's hooks out of the Gemini CLI's settings",
		Long: `Take out exactly what hookspan install gemini put in, from wherever it did, and leave
everything else. --scope and --project limit it. Traces and settings stay.`,
		Flags: map[string]string{
			"force":   "", // accepted as for other agents; edited entries go anyway
			"scope":   "only these settings: user or project",
			"project": "only this project's settings; for --scope project, this folder if not given",
		},
	}
}

func installOpencode() Command {
	return Command{
		Short: "Let opencode report to hookspan",
		Long: `Write hookspan's plugin, one JavaScript file, into a folder from which opencode loads
plugins at its start. opencode's settings stay as they are. hookspan uninstall opencode
removes the file.

With any plugin in a folder opencode fetches its package @opencode-ai/plugin, about
63 MB, from the npm registry into the folder's node_modules at its next start. It waits
for that, without a network for more than a minute. --dry-run says whether it will.

  --scope user      ~/.config/opencode/plugin, for all your projects (the default)
  --scope project   .opencode/plugin in the project`,
		Flags: map[string]string{
			"force":   "rewrite a hookspan plugin that was edited",
			"scope":   "whose plugin folder: user or project",
			"project": "the project's folder, for --scope project, which it implies; this folder if not given",
		},
	}
}

func uninstallOpencode() Command {
	return Command{
		Short: "Remove hookspan's plugin from opencode",
		Long: `Remove exactly what hookspan install opencode wrote, from wherever it did, and leave
everything else, the packages that opencode has fetched included. --scope and --project
limit it. Traces and settings stay.`,
		Flags: map[string]string{
			"force":   "remove a hookspan plugin that was edited, too",
			"scope":   "only this plugin folder: user or project",
			"project": "only this project's plugin folder; for --scope project, this folder if not given",
		},
	}
}

func installQwen() Command {
	return Command{
		Short: "Let Qwen Code report to hookspan",
		Long: `Add hookspan's hooks to Qwen Code's settings; --dry-run shows the lines. Your own
hooks, all other settings, comments and the layout of the file stay as they are; the
file as it was is kept beside it. hookspan uninstall qwen takes the hooks out again, to
the byte.

  --scope user      ~/.qwen/settings.json, for all your projects (the default)
  --scope project   .qwen/settings.json in the project, which others may share`,
		Flags: map[string]string{
			"force":   "rewrite hookspan entries that were edited",
			"scope":   "whose settings: user or project",
			"project": "the project's folder, for --scope project, which it implies; this folder if not given",
		},
	}
}

func uninstallQwen() Command {
	return Command{
		Short: "Take hookspan's hooks out of Qwen Code's settings",
		Long: `Take out exactly what hookspan install qwen put in, from wherever it did, and leave
everything else. --scope and --project limit it. Traces and settings stay.`,
		Flags: map[string]string{
			"force":   "", // accepted as for other agents; edited entries go anyway
			"scope":   "only these settings: user or project",
			"project": "only this project's settings; for --scope project, this folder if not given",
		},
	}
}

func uninstallClaude() Command {
	return Command{
		Short: "Take hookspan's hooks out of Claude Code's settings",
		Long: `Take out exactly what hookspan install claude put in, from wherever it did, and leave
everything else. --scope and --project limit it. Traces and settings stay.`,
		Flags: map[string]string{
			"force":   "", // accepted as for other agents; edited entries go anyway
			"scope":   "only these settings: user, project or local",
			"project": "only this project's settings; for --scope project and local, this folder if not given",
		},
	}
}
