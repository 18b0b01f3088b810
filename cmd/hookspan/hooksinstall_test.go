package main

import (
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/cline"
)

func TestWhichClineAsksAGuard(t *testing.T) {
	for _, tt := range []struct {
		name         string
		role         string
		state        install.State
		editors, sdk bool
	}{
		{"a folder that every Cline reads", cline.RoleShared, install.StateInstalled, true, true},
		{"the editors' folder", cline.RoleEditors, install.StateInstalled, true, false},
		{"the SDK's folder", cline.RoleSDK, install.StateInstalled, false, true},
		{"~/Documents where the documents folder is another", cline.RoleSDKDocuments, install.StateInstalled, false, true},
		{"outdated", cline.RoleShared, install.StateOutdated, true, true},
		{"switched off in Cline's Hooks tab", cline.RoleShared, install.StateOff, false, true},
		{"edited", cline.RoleShared, install.StateEdited, false, false},
		{"not hookspan's", cline.RoleShared, install.StateForeign, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &install.Report{Sites: []install.Site{
				{Kind: tt.role, Hooks: []install.Hook{{Event: preToolUse, State: tt.state}}},
			}}
			editors, sdk, _ := preToolUseHeard(r, "")
			if editors != tt.editors || sdk != tt.sdk {
				t.Errorf("editors %v, SDK %v; want %v, %v", editors, sdk, tt.editors, tt.sdk)
			}
		})
	}
}
