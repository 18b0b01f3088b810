package store

import (
	"path"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
)

// shellTools are words in the names of tools that run a shell's command.
var shellTools = []string{"bash", "shell", "command", "terminal", "exec", "cmd"}

// CommandOf returns the program that a shell tool's call runs, such as "npm", with
// its subcommand if it has them, such as "go test". It is empty for other tools
// and if the arguments do not say.
func CommandOf(tool, arguments string) string {
	return Program(termtext.HeadBytes(ScriptOf(tool, arguments), maxScript)) // the program is among the first words
}

// ScriptOf returns what a shell tool's call runs, "" for other tools and if the arguments do not say.
func ScriptOf(tool, arguments string) string {
	tool = strings.ToLower(tool)
	if !slices.ContainsFunc(shellTools, func(word string) bool { return strings.Contains(tool, word) }) {
		return ""
	}
	o := rawjson.Members([]byte(arguments))
	between := "\n"
	if o.Get("command") != nil {
		between = " "
	}
	return strings.Join(slices.Collect(rawjson.Strings(o.Get("command", "commands", "cmd"))), between)
}

// Program returns the program of a shell command as CommandOf does.
func Program(command string) string { return program(command, 0) }

// maxScript bounds the part of a command in which its program is looked for, in bytes.
const maxScript = 4 << 10

// wrappers are programs and shell words before the program that counts.
var wrappers = []string{
	"env", "time", "nohup", "exec", "command", "nice", "xvfb-run", "then", "do", "if", "while", "!", "{", "(", "stdbuf", "-i", "-n",
}

// silent are commands before a "&&" or ";" that only prepare the next one.
var silent = []string{"cd", "set", "export", "source", ".", "true", "pushd", "popd", "unset", "umask", "ulimit", "sleep"}

// shells run the command after their option -c.
var shells = []string{"bash", "sh", "zsh", "dash", "fish", "pwsh", "powershell", "cmd"}

// subcommands are programs whose next word says what they do.
var subcommands = []string{
	"go", "git", "npm", "pnpm", "yarn", "npx", "bun", "deno", "cargo", "docker", "podman", "kubectl", "helm", "terraform", "gh", "glab",
	"pip", "pip3", "uv", "poetry", "bundle", "rails", "rake", "make", "just", "task", "gradle", "gradlew", "mvn", "mvnw", "dotnet", "swift",
	"apt", "apt-get", "brew", "systemctl", "composer", "mix", "flutter", "nix", "bazel", "aws", "gcloud", "az", "conda", "rustup", "hookspan",
}

// maxCommand bounds what program returns, in bytes.
const maxCommand = 60

// program returns the first program of a shell command that does more than prepare
// the next, with its subcommand.
func program(command string, depth int) string {
	for part := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune(";&|\n", r) }) {
		words := strings.Fields(part)
		as := "" // whom it runs as
		for len(words) > 0 {
			switch first := words[0]; {
			case slices.Contains(wrappers, first) || assigns(first):
				words = words[1:]
				continue
			case first == "sudo" || first == "doas":
				as, words = first+" ", afterOptions(first, words[1:])
				continue
			}
			break
		}
		if len(words) > 2 && words[0] == "timeout" {
			for words = words[1:]; len(words) > 0 && strings.ContainsRune("-0123456789", rune(words[0][0])); {
				words = words[1:]
			}
		}
		if len(words) == 0 && as != "" {
			return strings.TrimSpace(as)
		}
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		name := plainWord(path.Base(strings.ReplaceAll(strings.Trim(words[0], `"'(){}`), `\`, "/")))
		switch {
		case strings.Trim(name, "0123456789") == "" || slices.Contains(silent, name):
			continue
		case slices.Contains(shells, name) && depth == 0 && len(words) > 2 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c"):
			_, inner, _ := strings.Cut(command, words[1])
			if p := program(strings.Trim(strings.TrimSpace(inner), `"'`), depth+1); p != "" {
				return p
			}
		case slices.Contains(subcommands, name):
			name = withSubcommand(name, words[1:])
		}
		return strings.ToValidUTF8(termtext.HeadBytes(as+name, maxCommand), "")
	}
	return ""
}

// valued are the options before a program's subcommand whose value is the next word.
var valued = map[string]string{
	"sudo": "-u --user -g --group -h --host -p --prompt -C -D --chdir -R -T -U", "doas": "-u -C",
	"git":     "-C -c --git-dir --work-tree --namespace --config-env",
	"kubectl": "--context -n --namespace --kubeconfig --cluster --user -s --server --as --as-group --token --request-timeout -v",
	"helm":    "--kube-context -n --namespace --kubeconfig --kube-apiserver --kube-token",
	"docker":  "-c --context -H --host --config -l --log-level", "podman": "-c --connection --url --identity --log-level --root",
	"npm": "--prefix -w --workspace -C --registry", "pnpm": "--filter -F -C --dir", "yarn": "--cwd", "bun": "--cwd", "npx": "-p --package",
	"cargo": "--manifest-path -Z -C --config --color", "go": "-C", "make": "-C --directory -f --file -o -W", "just": "-f --justfile -d",
	"gradle": "-p --project-dir -b -c -g -I", "gradlew": "-p --project-dir -b -c -g -I",
	"mvn": "-f --file -pl --projects -s --settings -P -T", "mvnw": "-f --file -pl --projects -s --settings -P -T",
	"gh": "-R --repo", "glab": "-R --repo", "uv": "--directory --project -p --python --cache-dir", "poetry": "-C --directory -P --project",
	"aws": "--profile --region --output --endpoint-url --query --color", "gcloud": "--project --account --configuration --format",
	"az": "--subscription --output -o --query", "apt": "-o -c -t", "apt-get": "-o -c -t", "systemctl": "-H --host -M --machine -t --type",
}

// afterOptions returns the words from the first on that is no option of the program, nor
// the value of one.
func afterOptions(name string, words []string) []string {
	for len(words) > 0 && words[0][0] == '-' {
		if slices.Contains(strings.Fields(valued[name]), words[0]) && len(words) > 1 {
			words = words[1:]
		}
		words = words[1:]
	}
	return words
}

// withSubcommand adds the word after the options, and the script after "run".
func withSubcommand(name string, words []string) string {
	words = afterOptions(name, words)
	if len(words) == 0 {
		return name
	}
	sub := plainWord(words[0])
	if sub == "" {
		return name
	}
	if name += " " + sub; sub == "run" && len(words) > 1 {
		if script := plainWord(words[1]); script != "" && script[0] != '-' {
			name += " " + script
		}
	}
	return name
}

// assigns reports whether a word sets a variable.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// plainWord returns the word, or "" if it is not made of the characters of a
// program's name: a path or a text says nothing that calls have in common.
func plainWord(w string) string {
	w = strings.Trim(w, `"'`)
	if strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.:@") != "" {
		return ""
	}
	return w
}
