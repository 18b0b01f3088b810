package infiniumexporter

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/infinium/connectors"
)

// Config is the exporter's section of a Collector's configuration. README.md
// describes the settings.
type Config struct {
	// BaseURL is the address that agents/{id}/trace is appended to.
	BaseURL string `mapstructure:"base_url"`
	// AgentID and AgentSecret are the credentials of the agent on the platform.
	AgentID     string              `mapstructure:"agent_id"`
	AgentSecret configopaque.String `mapstructure:"agent_secret"`
	// AllowInsecure permits http:// to other machines.
	AllowInsecure bool `mapstructure:"allow_insecure"`

	// MaxInputPreview and MaxOutputPreview are in characters; zero is what
	// Infinium documents for each host.
	MaxInputPreview  int `mapstructure:"max_input_preview"`
	MaxOutputPreview int `mapstructure:"max_output_preview"`

	// Timeout bounds one request.
	Timeout time.Duration `mapstructure:"timeout"`
	// RequestsPerSecond bounds the requests, with bursts of twice as many. Zero
	// is no limit.
	RequestsPerSecond float64 `mapstructure:"requests_per_second"`

	// Wait is how long after its last span a trace is sent whose root has arrived.
	Wait time.Duration `mapstructure:"wait"`
	// WaitWithoutRoot is how long after its first span any trace is sent.
	WaitWithoutRoot time.Duration `mapstructure:"wait_without_root"`

	// ParkedDirectory gets the traces that Infinium refuses as they are. If empty,
	// they are named in the log and dropped.
	ParkedDirectory string `mapstructure:"parked_directory"`

	Queue configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`
	Retry configretry.BackOffConfig                                `mapstructure:"retry_on_failure"`

	_ struct{}
}

// Limits of the times, so that a wrong unit does not stop all traces for hours.
const (
	maxTimeout = 10 * time.Minute
	maxWait    = time.Hour
)

// consumers is the default number of pushes at once. A push lasts until its trace
// is complete and answered: at the 10 requests a second that the service allows,
// 2 s of waiting occupy 20, answers of some seconds as many again, and the rest is
// for traces whose root is late, which wait 30 s each.
const consumers = 100

func defaultConfig() component.Config {
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.NumConsumers = consumers
	retry := configretry.NewDefaultBackOffConfig()
	// Only a full queue loses a trace, and its sender gets the error.
	retry.MaxElapsedTime = 0
	return &Config{
		BaseURL:           infinium.DefaultBaseURL,
		Timeout:           30 * time.Second,
		RequestsPerSecond: 10,
		Wait:              2 * time.Second,
		WaitWithoutRoot:   30 * time.Second,
		Queue:             configoptional.Some(queue),
		Retry:             retry,
	}
}

var _ component.Config = (*Config)(nil)

// Validate reports every setting that is wrong, by its name. The sections
// sending_queue and retry_on_failure check themselves.
func (c *Config) Validate() error {
	r := c.RequestsPerSecond
	var errs []error
	for _, s := range []struct {
		name  string
		found any
		valid bool
		want  string
	}{
		{"max_input_preview", c.MaxInputPreview, c.MaxInputPreview >= 0, "0 (the default) or more characters"},
		{"max_output_preview", c.MaxOutputPreview, c.MaxOutputPreview >= 0, "0 (the default) or more characters"},
		{"timeout", c.Timeout, c.Timeout > 0 && c.Timeout <= maxTimeout, fmt.Sprintf("more than 0 and at most %s", maxTimeout)},
		{"requests_per_second", r, r >= 0 && r <= 10_000, "0 (no limit) to 10000; Infinium documents 10"},
		{"wait", c.Wait, c.Wait >= 0 && c.Wait <= maxWait, fmt.Sprintf("0 (send at once) to %s", maxWait)},
		{
			"wait_without_root", c.WaitWithoutRoot, c.WaitWithoutRoot >= c.Wait && c.WaitWithoutRoot <= maxWait,
			fmt.Sprintf("at least wait (%s) and at most %s", c.Wait, maxWait),
		},
	} {
		if !s.valid {
			errs = append(errs, fmt.Errorf("%s: found %v, want %s", s.name, s.found, s.want))
		}
	}
	// The client checks the address and the credentials.
	if _, err := infinium.NewClient(c.options("")); err != nil {
		errs = append(errs, renamed(err))
	}
	return errors.Join(errs...)
}

// renamed is an error of package infinium in the words of this configuration.
func renamed(err error) error {
	return errors.New(strings.TrimPrefix(inSettings(err.Error()), "infinium: "))
}

func (c *Config) options(version string) infinium.Options {
	return infinium.Options{
		BaseURL: c.BaseURL, AgentID: c.AgentID, AgentSecret: string(c.AgentSecret),
		Timeout: c.Timeout, AllowInsecure: c.AllowInsecure, Version: version, Forms: c.forms(),
	}
}

func (c *Config) forms() infinium.Forms {
	return connectors.Forms().WithPreviews(c.MaxInputPreview, c.MaxOutputPreview)
}
