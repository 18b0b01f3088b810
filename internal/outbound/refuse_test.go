package outbound

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/faultserver"
)

// moved are the answers that could lead a client on. Not all of them are redirects by the book.
var moved = []int{301, 302, 303, 307, 308, 300, 304, 305, 306, 399, 201, 202}

// TestNoAnswerLeadsElsewhere names another port, host name and scheme in a redirect, and other
// services, pages and cookies in each answer. A second request carries none of it.
func TestNoAnswerLeadsElsewhere(t *testing.T) {
	var visits atomic.Int64
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			visits.Add(1)
			_ = c.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	for how, o := range map[string]Options{"by default": {}, "of the caller": {Base: &http.Client{}}} {
		c := New(o)
		t.Cleanup(c.Close)
		for _, form := range []string{
			"http://127.0.0.1:%d/v1/traces", "http://localhost:%d/v1/traces", "http://[::ffff:127.0.0.1]:%d/", "https://127.0.0.1:%d/v1/traces",
			"//localhost:%d/v1/traces", "http://user:pass@127.0.0.1:%d/", "HTTP://LOCALHOST:%d",
		} {
			to := fmt.Sprintf(form, port)
			for _, code := range moved {
				s := server(t, faultserver.Answer{Status: code, Header: http.Header{
					"Location": {to}, "Content-Location": {to}, "Refresh": {"0; url=" + to}, "Link": {"<" + to + ">; rel=preconnect"},
					"Alt-Svc":    {fmt.Sprintf(`h2="localhost:%d"; ma=86400`, port)},
					"Set-Cookie": {"sid=tracked; Path=/", "sid2=tracked; Domain=localhost"},
				}})
				for range 2 {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Base(), strings.NewReader("request"))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Authorization", "Bearer canary")
					if a, err := c.Do(req); err != nil || a.Status != code {
						t.Errorf("%s, %d to %s: %+v, %v", how, code, to, a, err)
					}
				}
				got := s.Requests()
				if len(got) != 2 || got[1].Header.Get("Cookie") != "" || got[1].Header.Get("Authorization") != "Bearer canary" {
					t.Errorf("%s, %d to %s: requests %+v", how, code, to, got)
				}
				s.Close()
			}
		}
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("the other server was visited %d times", n)
	}
	if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Errorf("the other server takes no visits: %v", err)
	} else {
		_ = c.Close()
	}
}

// signer is a certificate that signs others.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign makes a certificate of a template; without a signer it signs itself.
func sign(t *testing.T, c *x509.Certificate, by *signer) (tls.Certificate, *signer) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by = &signer{c, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, &signer{cert, key}
}

func authority(t *testing.T, by *signer) *signer {
	t.Helper()
	_, s := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "canary authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, by)
	return s
}

// leaf is a right certificate for 127.0.0.1.
func leaf() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func TestCertificatesThatDoNotHoldAreRefused(t *testing.T) {
	ca, stranger := authority(t, nil), authority(t, nil)
	between := authority(t, ca)
	_, mere := sign(t, leaf(), ca)
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	for _, tc := range []struct {
		name   string
		by     *signer
		change func(*x509.Certificate)
		says   string // empty for one that holds
	}{
		{"a right one", ca, func(*x509.Certificate) {}, ""},
		{"signed by itself", nil, func(*x509.Certificate) {}, "unknown authority"},
		{"signed by a stranger", stranger, func(*x509.Certificate) {}, "unknown authority"},
		{"signed by one between that is not shown", between, func(*x509.Certificate) {}, "unknown authority"},
		{"signed by one that may not sign", mere, func(*x509.Certificate) {}, "unknown authority"},
		{"for another name", ca, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"collector.example"} }, "127.0.0.1"},
		{"for the common name alone", ca, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, nil }, "Common Name"},
		{"for a wildcard", ca, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"*", "*.0.0.1", "127.0.0.1"} }, "127.0.0.1"},
		{"for another address", ca, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = []net.IP{net.IPv4(127, 0, 0, 2)}, nil }, "127.0.0.2"},
		{"expired", ca, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, "expired"},
		{"not valid yet", ca, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) }, "not yet valid"},
		{"for clients", ca, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, "incompatible key usage"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			template := leaf()
			tc.change(template)
			cert, _ := sign(t, template, tc.by)
			s, err := faultserver.Start(faultserver.Options[faultserver.Answer, faultserver.Incoming]{
				Name: "server", TLS: &tls.Config{Certificates: []tls.Certificate{cert}}, //nolint:gosec // Of a test.
				Read: func(in faultserver.Incoming) *faultserver.Incoming { return &in },
				Choose: func(*faultserver.Incoming, func() (faultserver.Answer, bool)) faultserver.Answer {
					return faultserver.Answer{}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			if a, err := do(t.Context(), t, New(Options{}), s.Base()); err == nil {
				t.Errorf("by the system's roots: %+v", a)
			}
			a, err := do(t.Context(), t, New(Options{TLS: &tls.Config{RootCAs: roots}}), s.Base()) //nolint:gosec // The client must raise the version.
			if tc.says == "" {
				if err != nil || len(s.Requests()) != 1 {
					t.Errorf("%v after %d requests", err, len(s.Requests()))
				}
				return
			}
			if e := kindOf(t, a, err); !strings.Contains(e.Error(), tc.says) || len(s.Requests()) != 0 {
				t.Errorf("%v after %d requests, want %q and none", e, len(s.Requests()), tc.says)
			}
		})
	}
}
