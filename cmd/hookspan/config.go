package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/zalando/go-keyring"
	"golang.org/x/term"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/termtext"
)

func configCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Print each setting, its value and where it came from",
		Long: `Print each setting, its value and where it came from. Secrets are shown as stars.
Settings come from the environment, else from the env file, else from the
machine-wide file, else they have their default; a managed machine-wide file holds. For a wrong value it says what is allowed, and the exit code is 1.`,
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := takes(0, "no argument")(cmd, args); err != nil {
			return hinted{err, "hookspan config --all shows every setting; write a line NAME=value into " + envFile(a) + " to change one"}
		}
		return nil
	}
	asJSON, all := jsonFlag(cmd), cmd.Flags().Bool("all", false, "list settings that are not set, too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *asJSON && *all {
			return wrongUsage(cmd, "--all and --json: want one of them: JSON has all settings")
		}
		destinations := a.setup().Destinations()
		settings := a.cfg.Settings()
		keyringSetting(a, settings)
		problems := []string{}
		for _, p := range config.Problems(a.cfgErr) {
			problems = append(problems, p.Error())
		}
		return a.result(*asJSON, map[string]any{
			"settings": settings, "problems": problems, "destinations": destinations,
			"env_file": envFile(a), "machine_file": a.cfg.MachineFile, "managed": a.cfg.Managed, "state_dir": a.cfg.StateDir,
		}, len(problems) == 0, func() {
			a.printf("env file     %s\n", envFile(a))
			if a.cfg.MachineFile != "" {
				a.printf("machine file %s\n", a.cfg.MachineFile)
			}
			a.printf("state        %s\n", a.cfg.StateDir)
			a.printf("destinations %s\n\n", cmp.Or(strings.Join(destinations, ", "), "none"))
			printSettings(a, settings, *all)
			a.configProblems()
		})
	}
	return cmd
}

func printSettings(a *app, settings []config.Setting, all bool) {
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	hidden := 0
	for _, s := range settings {
		if s.Source == config.Default && s.Value == "" && !all {
			hidden++
			continue
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, termtext.Value(s.Value), s.Source)
	}
	_ = w.Flush()
	if hidden > 0 {
		a.printf("\n%d more are not set; --all lists them\n", hidden)
	}
}

// keyringSetting adds the secret from the system's keyring, which is not part of
// the configuration.
func keyringSetting(a *app, settings []config.Setting) {
	const name = "INFINIUM_AGENT_SECRET"
	if a.cfg.InfiniumAgentSecret == "" || a.cfg.Source(name) != config.Default {
		return
	}
	for i := range settings {
		if settings[i].Name == name {
			settings[i].Value, settings[i].Source = a.cfg.InfiniumAgentSecret.String(), "keyring"
		}
	}
}

func envFile(a *app) string {
	if a.cfg.ConfigFile != "" {
		return a.cfg.ConfigFile
	}
	return a.cfg.ConfigDir + string(os.PathSeparator) + "hookspan.env"
}

func credentialsCmd(a *app) *cobra.Command {
	set := &cobra.Command{
		Use: "set", Short: "Store the secret of an Infinium agent",
		Long: `Store the secret of an Infinium agent in the system's keyring, where hookspan
finds it by the agent's id. The secret is read from the terminal without being
shown, or from standard input. If INFINIUM_AGENT_SECRET is set, hookspan uses that.`,
		Args: takes(0, "no argument; the secret is read from standard input"),
	}
	remove := &cobra.Command{Use: "delete", Short: "Remove the secret of an Infinium agent"}
	for cmd, do := range map[*cobra.Command]func(*app, string) error{set: storeSecret, remove: deleteSecret} {
		id := cmd.Flags().String("agent-id", "", "the agent's id; INFINIUM_AGENT_ID if not given")
		cmd.RunE = func(*cobra.Command, []string) error {
			agent := cmp.Or(*id, a.cfg.InfiniumAgentID)
			if agent == "" {
				return hinted{errors.New("no agent id"), "give --agent-id, or set INFINIUM_AGENT_ID"}
			}
			return do(a, agent)
		}
	}
	return group("credentials", "Keep the Infinium secret in the system's keyring", set, remove)
}

func storeSecret(a *app, id string) error {
	secret, err := readSecret(a)
	if err != nil {
		return err
	}
	if err := keyring.Set(pipeline.KeyringService, id, secret); err != nil {
		return noKeyring(a, "store the secret in", err)
	}
	a.printf("the secret of agent %s is in the system's keyring\n", id)
	if a.cfg.InfiniumAgentID != id {
		a.printf("now set INFINIUM_AGENT_ID=%s in %s\n", id, envFile(a))
	}
	return nil
}

func deleteSecret(a *app, id string) error {
	switch err := keyring.Delete(pipeline.KeyringService, id); {
	case errors.Is(err, keyring.ErrNotFound):
		a.printf("the keyring holds no secret of agent %s\n", id)
	case err != nil:
		return noKeyring(a, "remove the secret from", err)
	default:
		a.printf("the secret of agent %s is removed\n", id)
	}
	return nil
}

func noKeyring(a *app, what string, err error) error {
	return hinted{
		fmt.Errorf("%s the system's keyring: %w", what, err),
		"where there is no keyring, INFINIUM_AGENT_SECRET in " + envFile(a) + " (mode 0600) can set the secret",
	}
}

// readSecret reads one line, without echo on a terminal.
func readSecret(a *app) (string, error) {
	var line string
	if f, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		_, _ = fmt.Fprint(a.stderr, "secret (not shown): ")
		b, err := term.ReadPassword(int(f.Fd()))
		_, _ = fmt.Fprintln(a.stderr)
		if err != nil {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		line = string(b)
	} else {
		var err error
		line, err = bufio.NewReader(io.LimitReader(a.stdin, 64<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the secret: %w", err)
		}
	}
	line = strings.TrimSpace(line)
	if len(line) < 8 {
		return "", fmt.Errorf("the secret has %d characters: want at least 8", len(line))
	}
	return line, nil
}
