package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set at link time by the release build.
var version = ""

func (a *app) versionCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: takes(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON(map[string]string{
					"version": buildVersion(), "go": runtime.Version(), "os": a.goos, "arch": runtime.GOARCH,
				})
			}
			a.printf("%s\n", a.versionText())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) versionText() string {
	return fmt.Sprintf("hookspan %s (%s, %s/%s)", buildVersion(), runtime.Version(), a.goos, runtime.GOARCH)
}

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
