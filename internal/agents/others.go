package agents

// others are agents that hookspan does not support and that run the hooks of
// supported ones, by the short name that hook programs record.
var others = map[string]string{
	"codex":   "Codex",
	"copilot": "GitHub Copilot",
	"droid":   "Factory Droid",
	"gemini":  "Gemini CLI",
	"qwen":    "Qwen Code",
}

// OtherName returns the name of an agent that is not supported as its users know
// it, or the short name itself if that is unknown.
func OtherName(short string) string {
	if name, ok := others[short]; ok {
		return name
	}
	return short
}
