package main

import (
	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/install/programs"
	"github.com/hookspan/hookspan/internal/install/upgrade"
)

func upgradeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade --check",
		Short: "Say whether a newer release is out",
		Long: `Ask the page of hookspan's releases for the newest one and say whether it is newer
than this program. This command makes one request, which holds nothing about you or
this machine; no other command asks, and nothing is downloaded. Upgrade with what
installed hookspan: the next command that you run lets the hooks start the new
programs.`,
		DisableFlagsInUseLine: true,
	}
	check := cmd.Flags().Bool("check", false, "ask now")
	from := cmd.Flags().String("from", upgrade.Releases, "the `address` of the releases")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*check {
			return wrongUsage(cmd, "upgrade: without --check there is nothing to do: hookspan does not replace itself, use what installed it")
		}
		newest, err := upgrade.Newest(cmd.Context(), *from)
		if err != nil {
			return err
		}
		type answer struct {
			Version string `json:"version"`
			Newest  string `json:"newest"`
			Newer   bool   `json:"newer"`
			Command string `json:"command,omitempty"`
		}
		said := answer{Version: buildVersion(), Newest: newest, Newer: programs.Newer(newest, buildVersion())}
		if self, err := hookProgram(a, "hookspan", ""); said.Newer && err == nil {
			said.Command = upgrade.Command(self)
		}
		return a.result(*asJSON, said, true, func() {
			switch {
			case !programs.Released(said.Version):
				a.printf("this is %s, which has no release number; the newest release is %s\n", said.Version, newest)
			case !said.Newer:
				a.printf("hookspan %s is up to date, the newest release is %s\n", said.Version, newest)
			case said.Command != "":
				a.printf("hookspan %s is out, this is %s: %s\n", newest, said.Version, said.Command)
			default:
				a.printf("hookspan %s is out, this is %s: %s/tag/%s\n", newest, said.Version, *from, newest)
			}
		})
	}
	return cmd
}
