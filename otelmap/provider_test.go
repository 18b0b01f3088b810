package otelmap

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// TestProviderOfTheModel has what names the provider: events, the agent's files, or
// nothing, after which it is the agent's.
func TestProviderOfTheModel(t *testing.T) {
	call := func(provider, model string) []hook.Request {
		return []hook.Request{{Kind: hook.RequestSingle, ID: "r1", Turn: "t1", Start: epoch.Add(time.Second), End: epoch.Add(2 * time.Second), Provider: provider, Model: model}}
	}
	for name, c := range map[string]struct {
		model                string
		tr                   hook.Transcript
		provider, host, chat string
	}{
		"nothing names it":      {"", hook.Transcript{}, "anthropic", "", ""},
		"events name the model": {"m", hook.Transcript{}, "anthropic", "", ""},
		"files name it":         {"m", hook.Transcript{Requests: call("Bedrock", "m")}, "aws.bedrock", "Bedrock", "aws.bedrock"},
		"files name the model":  {"", hook.Transcript{Requests: call("", "m")}, "anthropic", "", "anthropic"},
		"files name the last":   {"m", hook.Transcript{Provider: "openai"}, "openai", "openai", ""},
	} {
		t.Run(name, func(t *testing.T) {
			prompt := turnPrompt(0, "t1")
			prompt.Model = c.model
			b := buildTurns(Carry{}, []hook.Event{prompt, turnStop(3, "t1")})
			spans := spansOf(b, b.Runs(epoch.Add(time.Hour))[0], &c.tr)
			root := spans[0].GetAttributes()
			if p, h := otlp.Text(root, KeyProvider), otlp.Text(root, KeyHostProvider); p != c.provider || h != c.host {
				t.Errorf("run: provider %q, as the host spells it %q; want %q, %q", p, h, c.provider, c.host)
			}
			if c.chat == "" {
				return
			}
			if p := otlp.Text(spans[1].GetAttributes(), KeyProvider); p != c.chat {
				t.Errorf("request: provider %q, want %q", p, c.chat)
			}
		})
	}
}
