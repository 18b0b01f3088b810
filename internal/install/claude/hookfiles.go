package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/regular"
)

// Scopes of files from which Claude Code takes hooks, beside those of its settings.
const (
	// ScopeManaged is an organisation's settings.
	ScopeManaged = "managed"
	// ScopePlugin is the hooks of an installed plugin.
	ScopePlugin = "plugin"
)

// HookFile is a file from which the agent takes hooks. It need not exist.
type HookFile struct {
	Path string
	// Scope is one of the scopes, Project the project's folder.
	Scope, Project string
	// Plugin is the name of the plugin.
	Plugin string
	// Off says why the agent runs none of the file's hooks, empty if it runs them.
	Off string
}

// HookFiles lists the files from which the agent takes hooks, for the user and in
// projects. Of the plugins these are the ones in the agent's list of installed
// plugins that have a hooks/hooks.json.
func (in Installer) HookFiles(sys install.System, projects []string) []HookFile {
	of := in.product()
	var out []HookFile
	add := func(f HookFile) {
		if !slices.ContainsFunc(out, func(have HookFile) bool { return have.Path == f.Path }) {
			out = append(out, f)
		}
	}
	off := in.Off(sys, "")
	for _, path := range in.managedFiles(sys) {
		add(HookFile{Path: path, Scope: ScopeManaged, Off: in.managedOff(sys)})
	}
	if user, err := of.settingsOf(sys, install.ScopeUser, ""); err == nil {
		add(HookFile{Path: user.Path, Scope: install.ScopeUser, Off: off})
	}
	for _, project := range projects {
		for _, scope := range of.scopes[1:] {
			if f, err := of.settingsOf(sys, scope, project); err == nil {
				add(HookFile{Path: f.Path, Scope: scope, Project: project, Off: in.Off(sys, project)})
			}
		}
	}
	if dir, err := of.ownDir(sys); err == nil {
		plugins := installedPlugins(dir)
		for _, name := range slices.Sorted(maps.Keys(plugins)) {
			path := plugins[name]
			f := HookFile{Path: filepath.Join(path, "hooks", "hooks.json"), Scope: ScopePlugin, Plugin: name, Off: off}
			if f.Off == "" && in.disabled(sys, name) {
				f.Off = "the plugin " + name + " is switched off (enabledPlugins)"
			}
			if install.FileExists(f.Path) {
				add(f)
			}
		}
	}
	return out
}

// Off says why the agent does not run the hooks of settings in a project, or, without
// a project, anywhere. It is empty if the agent runs them.
func (in Installer) Off(sys install.System, project string) string {
	if list := in.reasonsOff(sys, project); len(list) > 0 {
		return list[0]
	}
	return ""
}

// managedOff is Off for an organisation's hooks, which only its settings switch off.
func (in Installer) managedOff(sys install.System) string {
	for _, path := range in.managedFiles(sys) {
		if off := in.product().readSwitches(path).DisableAllHooks; off != nil && *off {
			return fmt.Sprintf("hooks are switched off in %s's settings (disableAllHooks in %q)", in.product().name, path)
		}
	}
	return ""
}

// maxPlugins bounds the list of installed plugins, in bytes.
const maxPlugins = 4 << 20

// installedPlugins are the folders of the installed plugins by their names. Newer
// versions list several installations of one.
func installedPlugins(dir string) map[string]string {
	data, err := regular.Read(filepath.Join(dir, "plugins", "installed_plugins.json"), regular.Options{Max: maxPlugins})
	if err != nil {
		return nil
	}
	var list struct {
		Plugins map[string]json.RawMessage `json:"plugins"`
	}
	if json.Unmarshal(data, &list) != nil {
		return nil
	}
	type installed struct {
		InstallPath string `json:"installPath"`
	}
	out := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(list.Plugins)) {
		var one installed
		var several []installed
		if json.Unmarshal(list.Plugins[name], &several) == nil && len(several) > 0 {
			one = several[len(several)-1]
		} else if json.Unmarshal(list.Plugins[name], &one) != nil {
			continue
		}
		if filepath.IsAbs(one.InstallPath) {
			out[name] = filepath.Clean(one.InstallPath)
		}
	}
	return out
}

// disabled reports that the user's settings switch a plugin off.
func (in Installer) disabled(sys install.System, plugin string) bool {
	for _, path := range in.effective(sys, "") {
		f, err := readSettings(path)
		if err != nil || f.Missing() {
			continue
		}
		var settings struct {
			EnabledPlugins map[string]json.RawMessage `json:"enabledPlugins"`
		}
		if json.Unmarshal(f.Data, &settings) != nil {
			continue
		}
		if on, ok := settings.EnabledPlugins[plugin]; ok {
			return cmp.Or(string(on), "true") == "false"
		}
	}
	return false
}
