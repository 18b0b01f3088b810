package security_test

import (
	"fmt"
	"testing"

	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/plantedkeys"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// saidRows have a destination repeat, in its answer, the credential that it was
// sent. Errors go to the log, to the delivery state and to the terminal.
var saidRows = []proof.Row{{
	Name:  "a destination whose answer repeats a part of the credential it was sent, from each byte to each end",
	Rule:  "no eight characters in a row of it are in the error",
	Short: 200, Long: 2_000, Run: credentialsSaid,
}}

func credentialsSaid(t *testing.T, r *proof.Result) {
	const secret = "q7Rt-Z2mKw9Lx4VbN8sPd3Fh6Jc1Ty5Gu0_Qa"
	key := plantedkeys.Key{Random: secret}
	receiver, service := otlptest.New(t), infiniumtest.New(t)
	service.SetCredentials(infiniumtest.AgentID, secret)
	otlp, err := deliver.NewOTLP(t.Context(), deliver.OTLP{
		Endpoint: receiver.URL(), Headers: map[string]string{"Authorization": "Bearer " + secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := infinium.NewClient(infinium.Options{BaseURL: service.URL(), AgentID: infiniumtest.AgentID, AgentSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	spans := mapped(nil, otelmap.CapturePreview, "cline", decodeAll("cline", classicTask.events("hello")), noTranscript)
	said := func(name string, err error, part string) {
		if err == nil {
			r.Break("%s: the refusal was taken for a success", name)
			return
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
			if l := key.Leak(text); l != "" {
				r.Break("%s said %q: %q is in %q", name, part, l, text)
				return
			}
		}
	}
	// A part is told by its beginning and its end. All of them would be many:
	// those that share one with the whole, and every so many of the others.
	n := 0
	for from := 0; from < len(secret); from++ {
		for to := from + 1; to <= len(secret); to++ {
			if n++; from > 0 && to < len(secret) && n%max(1, 1000/r.N) != 0 {
				continue
			}
			part := secret[from:to]
			for _, text := range []string{"unknown API key: " + part, `{"error":"key ` + part + `… is not known"}`} {
				receiver.Script(otlptest.Status(400, text))
				said("otlp", otlp.UploadTraces(t.Context(), spans), part)
				service.Script(infiniumtest.Status(422, text))
				said("infinium", inf.UploadTraces(t.Context(), spans), part)
				r.Trial(2)
			}
		}
	}
}
