package hookscli

// Table is every row. All of them are in force in every run.
func Table() []Row {
	return append(append(denials(), goesOn()...), beyondTools()...)
}

// denials are the rows whose call is denied.
func denials() []Row {
	deny := func(name, what string, handlers ...Handler) Row {
		return Row{
			Name: name, What: what, Handlers: handlers, Actions: []Action{leaves(name)}, File: "row-" + name + ".out",
			Texts: []string{"told-" + name}, Denied: true, Softens: true,
			Want: Outcome{Told: []string{"told-" + name}, Calls: calls(pre, "Bash")},
		}
	}
	exit2 := deny("exit-two", "exit code 2 denies a command, and says why on standard error", on(pre, "Bash", refuses("told-exit-two")))

	lookahead := deny("lookahead", "a matcher that Go's own expressions cannot have: all tools but one", on(pre, "^(?!Read$).*", refuses("told-lookahead")))
	lookahead.Files = map[string]string{"row-lookahead.txt": "content-lookahead\n"}
	lookahead.Actions = []Action{{Kind: Read, Paths: []string{"row-lookahead.txt"}}, leaves("lookahead")}
	lookahead.Texts = append(lookahead.Texts, "content-lookahead")
	lookahead.Want.Told, lookahead.Before = lookahead.Texts, lookahead.Texts[1:]

	own := deny("own-name", "a matcher with Cline's own name of the tool", on(pre, "execute_command|run_commands", refuses("told-own-name")))
	own.Why = "in Claude Code no tool has that name"
	own.Except = map[Host]Outcome{Claude: {Left: "done\n"}}

	rule := deny("if-rule", "a permission rule: rm is denied, ls is not",
		with(on(pre, "Bash", refuses("told-if-rule")), map[string]any{"if": "Bash(rm *)"}))
	rule.Files = map[string]string{"row-if-rule.keep": "kept\n"}
	rule.File = "row-if-rule.keep"
	rule.Actions = []Action{bash("ls row-if-rule.keep"), bash("rm -f row-if-rule.keep")}
	rule.Want.Left = "kept\n"

	two := deny("two-hooks", "one hook allows, one denies",
		on(pre, "Bash", specific(pre, `"permissionDecision":"allow","permissionDecisionReason":"fine by me"`)), on(pre, "", refuses("told-two-hooks")))

	legacy := deny("legacy", "the older form of a denial", on(pre, "Bash", says(`{"decision":"block","reason":"told-legacy"}`)))

	project := deny("project", "a hook of the project's own file", Handler{Event: pre, Matcher: "Bash", Script: refuses("told-project"), Project: true})

	write := deny("json-deny", "JSON denies a new file", on(pre, "Write", specific(pre, `"permissionDecision":"deny","permissionDecisionReason":"told-json-deny"`)))
	write.Actions = []Action{{Kind: Write, Paths: []string{write.File}, New: "written"}}
	write.Want.Calls = calls(pre, "Write")

	secret := deny("read-secret", "of two files to be read one is denied",
		on(pre, "Read", "case $p in *row-read-secret.key*) "+refuses("told-read-secret")+";; esac"))
	secret.Files = map[string]string{"row-read-secret.txt": "content-public\n", "row-read-secret.key": "content-secret\n"}
	secret.Actions = []Action{{Kind: Read, Paths: []string{"row-read-secret.txt", "row-read-secret.key"}}}
	secret.File, secret.Softens = "", false
	secret.Texts = append(secret.Texts, "content-public", "content-secret")
	secret.Want = Outcome{Told: []string{"told-read-secret", "content-public"}, Calls: calls(pre, "Read")}
	secret.Why = "classic Cline reads one file after the other"
	secret.Except = map[Host]Outcome{CLI2: {Told: []string{"content-public"}, Stopped: true, Shown: true, Calls: secret.Want.Calls}}

	read := deny("read-denied", "a file is not read", on(pre, "Read", refuses("told-read-denied")))
	read.Files = map[string]string{"row-read-denied.txt": "content-denied\n"}
	read.Actions = []Action{{Kind: Read, Paths: []string{"row-read-denied.txt"}}}
	read.Texts = append(read.Texts, "content-denied")
	read.File, read.Want.Calls = "", calls(pre, "Read")

	return []Row{exit2, lookahead, own, rule, two, legacy, project, write, secret, read}
}

// goesOn are the rows whose call is not denied.
func goesOn() []Row {
	goes := func(name, what string, handlers ...Handler) Row {
		return Row{
			Name: name, What: what, Handlers: handlers, Actions: []Action{leaves(name)}, File: "row-" + name + ".out",
			Texts: []string{"told-" + name}, Want: Outcome{Left: "done\n", Calls: calls(pre, "Bash")},
		}
	}
	tells := func(r Row) Row {
		r.Want.Told = r.Texts
		return r
	}

	missing := goes("missing", "a hook that is not there lets the call continue", Handler{Event: pre, Matcher: "Bash", Missing: true})
	missing.Want.Calls = nil

	update := tells(goes("update", "a hook changes the command",
		on(pre, "Bash", specific(pre, `"permissionDecision":"allow","updatedInput":{"command":"echo told-update | tee row-update.out"}`))))
	update.Want.Left = "told-update\n"
	update.Why = "classic Cline cannot take another input, and must not run the old one"
	update.Except = map[Host]Outcome{CLI2: {Stopped: true, Shown: true, Calls: update.Want.Calls}}

	async := goes("async", "a hook that nobody waits for cannot deny", with(on(pre, "Bash", refuses("told-async")), map[string]any{"async": true}))

	wrote := tells(goes("after-write", "exit code 2 after a file was written tells the model", on(post, "Edit|Write", refuses("told-after-write"))))
	wrote.Actions = []Action{{Kind: Write, Paths: []string{wrote.File}, New: "done"}} // Classic Cline ends no file with a line's end.
	wrote.Want.Left, wrote.Want.Calls = "done", calls(post, "Write")

	edited := tells(goes("after-edit", "JSON after an edit tells the model", on(post, "Edit|Write", says(`{"decision":"block","reason":"told-after-edit"}`))))
	edited.Files = map[string]string{edited.File: "one\ntwo\n"}
	edited.Actions = []Action{{Kind: Edit, Paths: []string{edited.File}, Old: "two", New: "2"}}
	edited.Want.Left, edited.Want.Calls = "one\n2\n", calls(post, "Edit")

	read := tells(goes("after-read", "JSON after a file was read tells the model", on(post, "Read", says(`{"decision":"block","reason":"told-after-read"}`))))
	read.Files = map[string]string{"row-after-read.txt": "one\ntwo\n"}
	read.Actions = []Action{{Kind: Read, Paths: []string{"row-after-read.txt"}}}
	read.File, read.Want.Left, read.Want.Calls = "", "", calls(post, "Read")

	// The hook before the command only looks on.
	ran := tells(goes("after-command", "exit code 2 after a command tells the model", on(pre, "Bash", ""), on(post, "Bash", refuses("told-after-command"))))
	ran.Want.Calls = calls(post, "Bash", pre, "Bash")

	broke := tells(goes("after-failure", "a hook receives a failed command", on(failed, "Bash", refuses("told-after-failure"))))
	broke.Actions = []Action{bash("echo done > row-after-failure.out; exit 3")}
	broke.Want.Calls = calls(failed, "Bash")

	return []Row{
		goes("exit-one", "any other exit code lets the call continue", on(pre, "Bash", "echo told-exit-one >&2; exit 1")),
		missing,
		goes("plain-text", "plain text before a tool is for nobody", on(pre, "Bash", "echo told-plain-text")),
		tells(goes("context", "a text for the model before a tool", on(pre, "Bash", specific(pre, `"additionalContext":"told-context"`)))),
		update, async, wrote, edited, read, ran, broke,
	}
}

// beyondTools are the rows about the work as a whole.
func beyondTools() []Row {
	always := func(event, script string) Handler { return Handler{Event: event, Script: script, Always: true} }
	prompt := Row{
		Name: "prompt", What: "plain text beside a prompt is for the model", Handlers: []Handler{always("UserPromptSubmit", "echo told-prompt")},
		Texts: []string{"told-prompt"}, Want: Outcome{Told: []string{"told-prompt"}, Calls: calls("UserPromptSubmit", "")},
		Why:    "CLI 3 reports no prompt of the user",
		Except: map[Host]Outcome{CLI3: {}},
	}
	begin := Row{
		Name: "begin", What: "plain text at a session's start is for the model", Handlers: []Handler{always("SessionStart", "echo told-begin")},
		Texts: []string{"told-begin"}, Want: Outcome{Told: []string{"told-begin"}, Calls: calls("SessionStart", "")},
	}
	end := Row{
		Name: "end", What: "a hook receives the end", Handlers: []Handler{always("Stop", "echo told-end")},
		Texts: []string{"told-end"}, Want: Outcome{Calls: calls("Stop", "")},
	}
	over := Row{
		Name: "over", What: "a hook receives the session's end", Handlers: []Handler{always("SessionEnd", "")},
		Want: Outcome{Calls: calls("SessionEnd", "")},
	}
	return []Row{prompt, begin, end, over}
}

// Untrusted is a row for Cline alone, ahead of the user's trust: the hook of row
// "project" must not run for it.
func Untrusted() Row {
	return Row{
		Name: "untrusted", What: "a hook of a project's file that nobody trusts does not run",
		Actions: []Action{bash("echo done > row-project.first")}, File: "row-project.first", Want: Outcome{Left: "done\n"},
	}
}
