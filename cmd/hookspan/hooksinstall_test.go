package main

import (
	"testing"

	"github.com/hookspan/hookspan/internal/install"
)

func TestWhichClineAsksAGuard(t *testing.T) {
	for _, tt := range []struct {
		name         string
		role         install.Role
		state        install.State
		editors, sdk bool
	}{
		{"a folder that every Cline reads", install.RoleShared, install.StateOurs, true, true},
		{"the editors' folder", install.RoleEditors, install.StateOurs, true, false},
		{"the SDK's folder", install.RoleSDK, install.StateOurs, false, true},
		{"~/Documents where the documents folder is another", install.RoleSDKDocuments, install.StateOurs, false, true},
		{"outdated", install.RoleShared, install.StateStale, true, true},
		{"switched off in Cline's Hooks tab", install.RoleShared, install.StateOff, false, true},
		{"edited", install.RoleShared, install.StateEdited, false, false},
		{"not hookspan's", install.RoleShared, install.StateForeign, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &install.StatusReport{Hooks: []install.Installed{
				{Folder: install.Folder{Role: tt.role}, Event: preToolUse, State: tt.state},
			}}
			editors, sdk, _ := preToolUseHeard(r, "")
			if editors != tt.editors || sdk != tt.sdk {
				t.Errorf("editors %v, SDK %v; want %v, %v", editors, sdk, tt.editors, tt.sdk)
			}
		})
	}
}
