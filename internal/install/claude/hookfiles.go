package claude

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

// ScopePlugin is the scope of the hooks of an installed plugin.
const ScopePlugin = "plugin"

// HookFile is a file from which Claude Code takes hooks. It need not exist.
type HookFile struct {
	Path string
	// Scope is a scope of the settings, install.ScopeManaged or ScopePlugin. Project
	// is the project's folder.
	Scope, Project string
	// Plugin is the name of the plugin.
	Plugin string
	// Off says why Claude Code runs none of the file's hooks, empty if it runs them.
	Off string
}

// HookFiles lists the files from which Claude Code takes hooks, for the user and in
// projects. Of the plugins these are the ones in its list of installed plugins that
// have a hooks/hooks.json.
func (in Installer) HookFiles(sys install.System, projects []string) []HookFile {
	var out []HookFile
	add := func(f HookFile) {
		if !slices.ContainsFunc(out, func(have HookFile) bool { return have.Path == f.Path }) {
			out = append(out, f)
		}
	}
	user, offForUser := in.spec().Files(sys, ""), in.Off(sys, "")
	for _, f := range user {
		why := offForUser
		if f.Scope == install.ScopeManaged {
			why = managedOff(user)
		}
		add(HookFile{Path: f.Path, Scope: f.Scope, Off: why})
	}
	for _, project := range projects {
		why := in.Off(sys, project)
		for _, f := range slices.Backward(in.spec().Files(sys, project)) { // the user's and the organisation's are there already
			add(HookFile{Path: f.Path, Scope: f.Scope, Project: project, Off: why})
		}
	}
	dir, err := in.spec().Dir(sys)
	if err != nil {
		return out
	}
	plugins := installedPlugins(dir)
	for _, plugin := range slices.Sorted(maps.Keys(plugins)) {
		f := HookFile{Path: filepath.Join(plugins[plugin], "hooks", "hooks.json"), Scope: ScopePlugin, Plugin: plugin, Off: offForUser}
		if f.Off == "" && disabled(user, plugin) {
			f.Off = "the plugin " + plugin + " is switched off (enabledPlugins)"
		}
		if install.FileExists(f.Path) {
			add(f)
		}
	}
	return out
}

// Off says why Claude Code does not run the hooks of settings in a project, or,
// without a project, anywhere. It is empty if Claude Code runs them.
func (in Installer) Off(sys install.System, project string) string {
	if reasons := off(sys, in.spec().Files(sys, project)); len(reasons) > 0 {
		return reasons[0]
	}
	return ""
}

// managedOff is Off for an organisation's hooks, which only its settings switch off.
func managedOff(files []settings.File) string {
	for _, f := range files {
		if reasons := settings.DisableAllHooks(hook.AgentOf(hook.HostClaude).Name, []settings.File{f}); f.Scope == install.ScopeManaged && len(reasons) > 0 {
			return reasons[0]
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

// disabled reports that settings switch a plugin off.
func disabled(files []settings.File, plugin string) bool {
	for _, f := range files {
		var plugins map[string]json.RawMessage
		if json.Unmarshal(f.Members["enabledPlugins"], &plugins) != nil {
			continue
		}
		if on, ok := plugins[plugin]; ok {
			return string(on) == "false"
		}
	}
	return false
}
