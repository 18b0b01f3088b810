//go:build !windows

package ui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/hookstest"
)

// TestHooksThatACallStarts asks about a call by its tool and about recorded ones.
func TestHooksThatACallStarts(t *testing.T) {
	o := apiOptions(t)
	home := hookstest.New(t)
	o.Hooks = home.Catalog(o.Store)
	addr := listening(t, o)
	task := strings.Repeat("a1", 16)
	var out strings.Builder
	for _, query := range []string{
		"", "?tool=Bash", "?tool=Bash&input=%7B%22command%22:%22ls%22%7D", "?tool=Bash&input=7", "?tool=none", "?call=" + task + ".a100000000000005", "?call=" + task + ".a10000000000000b", "?call=" + task + ".x", "?call=zz.x",
	} {
		status, answer := send(t, addr, strings.Replace(apiCall, "sessions", "hooks"+query, 1)+"\n")
		var got struct {
			Asked       *askedCall
			UnknownTool bool
			Edit        bool
			Tests       map[string][]string
			Error       string
			Files       []struct {
				Hooks []struct {
					Event string
					Fits  *bool
				}
			}
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "== hooks%s: %d %s\nunknown tool %t, edit %t, tests of %d agents\n", query, status, got.Error, got.UnknownTool, got.Edit, len(got.Tests))
		if got.Asked != nil {
			fmt.Fprintf(&out, "asked %+v\n", *got.Asked)
		}
		for _, f := range got.Files {
			for _, h := range f.Hooks {
				if h.Fits != nil {
					fmt.Fprintf(&out, "%s: %t\n", h.Event, *h.Fits)
				}
			}
		}
	}
	golden.Check(t, "api-hooks.txt", out.String())
}
