package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set at link time by the release build.
var version = ""

func versionCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version"}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		parts := map[string]string{"version": buildVersion(), "go": runtime.Version(), "os": a.goos, "arch": runtime.GOARCH}
		return a.result(*asJSON, parts, true, func() { a.printf("%s\n", versionText(a)) })
	}
	return cmd
}

func versionText(a *app) string {
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
