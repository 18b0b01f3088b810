package infiniumexporter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/confmap"
)

const secret = "a-secret-of-the-agent"

func load(t *testing.T, settings map[string]any) (*Config, error) {
	t.Helper()
	all := map[string]any{"agent_id": "agent-1", "agent_secret": secret}
	for k, v := range settings {
		all[k] = v
	}
	c := defaultConfig().(*Config)
	if err := confmap.NewFromStringMap(all).Unmarshal(c); err != nil {
		return nil, err
	}
	return c, confmap.Validate(c)
}

func TestCredentialsAreTheOnlyRequiredSettings(t *testing.T) {
	c, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Queue.HasValue() || c.Queue.Get().NumConsumers != consumers || !c.Retry.Enabled || c.Retry.MaxElapsedTime != 0 {
		t.Errorf("queue %+v, retry %+v: want a queue with %d consumers and retries without end", c.Queue, c.Retry, consumers)
	}
	if c.Wait != 2*time.Second || c.WaitWithoutRoot != 30*time.Second || c.RequestsPerSecond != 10 {
		t.Errorf("%+v", c)
	}
}

func TestValidateNamesWrongSetting(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings map[string]any
		want     []string // in the error
	}{
		{"no id", map[string]any{"agent_id": ""}, []string{"agent_id", "not set"}},
		{"short id", map[string]any{"agent_id": "x"}, []string{"agent_id", "1 characters", "at least 3"}},
		{"no secret", map[string]any{"agent_secret": ""}, []string{"agent_secret", "not set"}},
		{"short secret", map[string]any{"agent_secret": "12345"}, []string{"agent_secret", "5 characters", "at least 8"}},
		{"secret with a space", map[string]any{"agent_secret": "one two three"}, []string{"agent_secret", "position 4"}},
		{"base_url without host", map[string]any{"base_url": "https://"}, []string{"base_url", "no host"}},
		{"base_url of another scheme", map[string]any{"base_url": "ftp://example.com"}, []string{"base_url", `"ftp"`, "https"}},
		{"base_url in the clear", map[string]any{"base_url": "http://example.com/api"}, []string{"base_url", "unencrypted", "https://"}},
		{"base_url with a password", map[string]any{"base_url": "https://a:hunter22@example.com"}, []string{"base_url", "example.com", "agent_secret"}},
		{"base_url with a query", map[string]any{"base_url": "https://example.com?a=b"}, []string{"base_url", "query"}},
		{"base_url that is none", map[string]any{"base_url": "https://[::1"}, []string{"base_url", "not a URL"}},
		{"max_input_preview", map[string]any{"max_input_preview": -1}, []string{"max_input_preview", "-1", "0"}},
		{"max_output_preview", map[string]any{"max_output_preview": -7}, []string{"max_output_preview", "-7", "0"}},
		{"max_input_preview as text", map[string]any{"max_input_preview": "many"}, []string{"max_input_preview"}},
		{"timeout of nothing", map[string]any{"timeout": "0s"}, []string{"timeout", "0s", "10m"}},
		{"timeout of a day", map[string]any{"timeout": "24h"}, []string{"timeout", "24h", "10m"}},
		{"timeout without unit", map[string]any{"timeout": "soon"}, []string{"timeout"}},
		{"requests_per_second", map[string]any{"requests_per_second": -0.5}, []string{"requests_per_second", "-0.5", "no limit"}},
		{"wait", map[string]any{"wait": "-1s"}, []string{"wait", "-1s", "1h"}},
		{"wait_without_root below wait", map[string]any{"wait": "5s", "wait_without_root": "4s"}, []string{"wait_without_root", "4s", "5s"}},
		{"wait_without_root of a day", map[string]any{"wait_without_root": "24h"}, []string{"wait_without_root", "24h", "1h"}},
		{"queue without consumers", map[string]any{"sending_queue": map[string]any{"num_consumers": 0}}, []string{"sending_queue", "num_consumers"}},
		{"queue of nothing", map[string]any{"sending_queue": map[string]any{"queue_size": 0}}, []string{"sending_queue", "queue_size"}},
		{"retry", map[string]any{"retry_on_failure": map[string]any{"initial_interval": "-1s"}}, []string{"retry_on_failure", "initial_interval"}},
		{"unknown key", map[string]any{"agent_key": "x"}, []string{"agent_key"}},
		{"several at once", map[string]any{"wait": "-1s", "timeout": "0s", "agent_id": ""}, []string{"wait:", "timeout:", "agent_id"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.settings)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if strings.Contains(err.Error(), "INFINIUM_") || strings.Contains(err.Error(), "CONNECTOR_") {
				t.Errorf("%q names a variable that the Collector does not read", err)
			}
			for _, s := range []string{secret, "12345", "hunter22"} {
				if strings.Contains(err.Error(), s) {
					t.Errorf("%q shows a secret", err)
				}
			}
		})
	}
}

func TestValidateAcceptsValidSettings(t *testing.T) {
	for _, settings := range []map[string]any{
		{"base_url": "http://127.0.0.1:9"},
		{"base_url": "http://example.com", "allow_insecure": true},
		{"wait": "0s", "wait_without_root": "0s", "requests_per_second": 0},
		{"sending_queue": map[string]any{"enabled": false}},
		{"sending_queue": map[string]any{"storage": "file_storage", "num_consumers": 3}},
		{"retry_on_failure": map[string]any{"enabled": false}},
	} {
		if _, err := load(t, settings); err != nil {
			t.Errorf("%v: %v", settings, err)
		}
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	c, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := confmap.New()
	if err := m.Marshal(c); err != nil {
		t.Fatal(err)
	}
	w := create(t, c, nil)
	defer w.stop(t)
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v", c, c, c), fmt.Sprint(*c), fmt.Sprint(m.ToStringMap()), fmt.Sprintf("%+v", w.client),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows the secret", text)
		}
	}
}
