package agents

import "github.com/hookspan/hookspan/hook"

// others are agents that hookspan does not support and that run the hooks of
// supported ones, by the short name that hook programs record.
var others = map[string]string{
	hook.CopilotOrVSCode: "GitHub Copilot or VS Code",
	"droid":              "Factory Droid",
	"grok":               "Grok Build",
}

// OtherName returns the name, as its users know it, of an agent that runs another's
// hooks, or the short name itself if that is unknown. word is its name on the command
// line, empty if it is not supported.
func OtherName(short string) (name, word string) {
	for _, a := range All().WithGuests() {
		if a.Host == short || a.Word == short {
			return a.Name, a.Word
		}
	}
	if name, ok := others[short]; ok {
		return name, ""
	}
	return short, ""
}
