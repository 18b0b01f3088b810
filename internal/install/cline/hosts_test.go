package cline

import (
	"testing"

	"github.com/hookspan/hookspan/internal/install"
)

func TestHostsOf(t *testing.T) {
	for _, tt := range []struct {
		name    string
		role    string
		state   install.State
		editors bool
		any     bool
	}{
		{"a folder that every Cline reads", RoleShared, install.StateInstalled, true, true},
		{"the editors' folder", RoleEditors, install.StateInstalled, true, true},
		{"the SDK's folder", RoleSDK, install.StateInstalled, false, true},
		{"~/Documents where the documents folder is another", RoleSDKDocuments, install.StateInstalled, false, true},
		{"outdated", RoleShared, install.StateOutdated, true, true},
		{"switched off in Cline's Hooks tab", RoleShared, install.StateOff, false, true},
		{"edited", RoleShared, install.StateEdited, false, false},
		{"not hookspan's", RoleShared, install.StateForeign, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &install.Report{Sites: []install.Site{
				{Place: install.Place{Kind: tt.role}, Hooks: []install.Hook{{Event: "PreToolUse", State: tt.state}}},
			}}
			got := HostsOf(r, "")
			if got.Guard() != tt.editors || got.Any() != tt.any || got.Foreign != (tt.state == install.StateForeign) {
				t.Errorf("got %+v, guard %v, any %v", got, got.Guard(), got.Any())
			}
		})
	}
}
