package infinium

import (
	"errors"
	"net/http"
	"testing"
)

func TestAFailureThatMayBeOfOneTraceAlone(t *testing.T) {
	plain := func(s string) string { return s }
	for status, want := range map[int]bool{
		500: true, 501: true, 505: true, 507: true, 524: true, 599: true,
		502: false, 503: false, 504: false, 600: false, 302: false, 400: false, 408: false, 429: false,
	} {
		a := &answer{status: status, header: http.Header{}}
		if got := a.failure(start, plain).Answered(); got != want {
			t.Errorf("%d: answered %t, want %t", status, got, want)
		}
	}
	page := &answer{status: 200, header: http.Header{"Content-Type": {"text/html"}}}
	half := &answer{status: 200, header: http.Header{}, broken: errors.New("EOF")}
	for name, e := range map[string]*Error{
		"no answer": {Class: ClassNetwork}, "timeout": {Class: ClassTimeout},
		"a login page": page.failure(start, plain), "half an answer": half.failure(start, plain),
	} {
		if e.Answered() {
			t.Errorf("%s: answered, want a service that is down", name)
		}
	}
}
