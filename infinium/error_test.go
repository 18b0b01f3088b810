package infinium

import (
	"io"
	"net/http"
	"testing"

	"github.com/hookspan/hookspan/internal/outbound"
)

func TestAnsweredIsTrueForFailuresOfOneTrace(t *testing.T) {
	for status, want := range map[int]bool{
		500: true, 501: true, 505: true, 507: true, 524: true, 599: true,
		502: false, 503: false, 504: false, 600: false, 302: false, 400: false, 408: false, 429: false,
	} {
		a := &outbound.Answer{Status: status, Header: http.Header{}}
		if got := refused(a, start, nil).Answered(); got != want {
			t.Errorf("%d: answered %t, want %t", status, got, want)
		}
	}
	page := &outbound.Answer{Status: 200, Header: http.Header{"Content-Type": {"text/html"}}}
	half := &outbound.Answer{Status: 200, Header: http.Header{}, Err: &outbound.Error{Err: io.ErrUnexpectedEOF}}
	for name, e := range map[string]*Error{
		"no answer": {Class: ClassNetwork}, "timeout": {Class: ClassTimeout},
		"a login page": refused(page, start, nil), "half an answer": refused(half, start, nil),
	} {
		if e.Answered() {
			t.Errorf("%s: answered, want a service that is down", name)
		}
	}
}
