package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// field returns a pointer to the field of a variable, nil if there is none. One of
// OTLP has the name of the variable for all signals. Tags would cost each hook process
// more than all the rest of Load.
func (c *Config) field(name string) any {
	switch name {
	case "HOOKSPAN_EXPORTERS":
		return &c.Exporters
	case "HOOKSPAN_FILE_PATH":
		return &c.FilePath
	case "HOOKSPAN_TRACEPARENT":
		return &c.Traceparent
	case "HOOKSPAN_DISABLED":
		return &c.Disabled
	case "HOOKSPAN_CAPTURE":
		return &c.Capture
	case "CONNECTOR_MAX_INPUT_PREVIEW":
		return &c.MaxInput
	case "CONNECTOR_MAX_OUTPUT_PREVIEW":
		return &c.MaxOutput
	case "HOOKSPAN_IDLE_TIMEOUT":
		return &c.IdleTimeout
	case "HOOKSPAN_REDACT":
		return &c.Redact
	case redactFile:
		return &c.RedactFile
	case "HOOKSPAN_MAX_EVENT_BYTES":
		return &c.MaxEventBytes
	case "HOOKSPAN_SPOOL_SYNC":
		return &c.SpoolSync
	case "HOOKSPAN_SPOOL_MAX_BYTES":
		return &c.SpoolMaxBytes
	case "HOOKSPAN_RETENTION":
		return &c.Retention
	case "HOOKSPAN_STORE_MAX_BYTES":
		return &c.StoreMaxBytes
	case configFile:
		return &c.ConfigFile
	case "HOOKSPAN_HOOKS":
		return &c.Hooks
	case "HOOKSPAN_HOOKS_ON_ERROR":
		return &c.HooksOnError
	case "HOOKSPAN_HOOKS_STRICT_EXIT":
		return &c.HooksStrictExit
	case "HOOKSPAN_HOOKS_SOFT_DENY":
		return &c.HooksSoftDeny
	case "HOOKSPAN_HOOKS_ASK":
		return &c.HooksAsk
	case "HOOKSPAN_HOOKS_DEBUG":
		return &c.HooksDebug
	case "HOOKSPAN_ALLOW_INSECURE":
		return &c.AllowInsecure
	case "INFINIUM_AGENT_ID":
		return &c.InfiniumAgentID
	case "INFINIUM_AGENT_SECRET":
		return &c.InfiniumAgentSecret
	case "INFINIUM_BASE_URL":
		return &c.InfiniumBaseURL
	case "HOOKSPAN_INFINIUM_GRANULARITY":
		return &c.InfiniumGranularity
	case otlpPrefix + "ENDPOINT":
		return &c.Export.Endpoint
	case otlpPrefix + "HEADERS":
		return &c.Export.Headers
	case otlpPrefix + "TIMEOUT":
		return &c.Export.Timeout
	case otlpPrefix + "COMPRESSION":
		return &c.Export.Compression
	case otlpPrefix + "PROTOCOL":
		return &c.Export.Protocol
	case otlpPrefix + "CERTIFICATE":
		return &c.Export.Certificate
	case otlpPrefix + "CLIENT_CERTIFICATE":
		return &c.Export.ClientCertificate
	case otlpPrefix + "CLIENT_KEY":
		return &c.Export.ClientKey
	case "OTEL_SERVICE_NAME":
		return &c.ServiceName
	case "OTEL_RESOURCE_ATTRIBUTES":
		return &c.Resource
	case "OTEL_SDK_DISABLED":
		return &c.SDKDisabled
	}
	return nil
}

// set sets the field of a variable to a value that has passed its check, so an error is
// a defect of the table; the tests load every default.
func (c *Config) set(name, text string) (err error) {
	switch to := c.field(name).(type) {
	case *string:
		*to = text
	case *Secret:
		*to = Secret(text)
	case *[]string:
		*to = strings.Split(text, ",")
	case *bool:
		*to, err = strconv.ParseBool(text)
	case *int:
		*to, err = strconv.Atoi(text)
	case *int64:
		*to, err = strconv.ParseInt(text, 10, 64)
	case *time.Duration:
		*to, err = time.ParseDuration(text)
	case *Headers:
		*to, _ = parseHeaders(text)
	default:
		err = fmt.Errorf("a field of type %T", to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
