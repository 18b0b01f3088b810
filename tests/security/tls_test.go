package security_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/faultserver"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// tlsRows have servers prove who they are in ways that do not hold.
var tlsRows = []proof.Row{
	{
		Name: "https servers with a self-signed certificate, one for another name, expired, not valid yet, for clients, without a chain, " +
			"and with TLS 1.0 and 1.1, beside every switch that other programs have for that: OTLP, Infinium, http hooks",
		Rule:  "no request reaches the server; a right certificate is taken",
		Short: 100, Rest: true, Run: impostors,
	},
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign makes a certificate of a template; a nil parent signs itself.
func sign(t *testing.T, c *x509.Certificate, parent *authority) (tls.Certificate, *authority) {
	t.Helper()
	key := newKey(t)
	by, with := c, key
	if parent != nil {
		by, with = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, with)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		&authority{leaf, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func newAuthority(t *testing.T, parent *authority) *authority {
	t.Helper()
	_, a := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "canary authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, parent)
	return a
}

// leaf is a right certificate for 127.0.0.1 but for what change does to it.
func leaf(change func(*x509.Certificate)) *x509.Certificate {
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(c)
	}
	return c
}

// switches are what people set to make other programs take any certificate.
var switches = []string{
	"NODE_TLS_REJECT_UNAUTHORIZED=0", "OTEL_EXPORTER_OTLP_INSECURE=true", "OTEL_EXPORTER_OTLP_TRACES_INSECURE=true", "OTEL_EXPORTER_OTLP_INSECURE_SKIP_VERIFY=true",
	"HOOKSPAN_ALLOW_INSECURE=true", "HOOKSPAN_INSECURE_SKIP_VERIFY=true", "GIT_SSL_NO_VERIFY=1", "PYTHONHTTPSVERIFY=0", "GOINSECURE=*", "CURL_INSECURE=1",
	"GODEBUG=tls10server=1,tls3des=1,tlsrsakex=1,x509sha1=1,x509ignoreCN=0,x509negativeserial=1,tlsmaxrsasize=99999,tls10client=1",
}

func impostors(t *testing.T, r *proof.Result) {
	ca, stranger := newAuthority(t, nil), newAuthority(t, nil)
	between := newAuthority(t, ca)
	right, _ := sign(t, leaf(nil), ca)
	type shape struct {
		name string
		tls  *tls.Config
		good bool
	}
	bad := func(name string, parent *authority, change func(*x509.Certificate)) shape {
		c, _ := sign(t, leaf(change), parent)
		return shape{name, &tls.Config{Certificates: []tls.Certificate{c}}, false}
	}
	old := func(name string, version uint16) shape {
		return shape{name, &tls.Config{Certificates: []tls.Certificate{right}, MinVersion: tls.VersionTLS10, MaxVersion: version}, false} //nolint:gosec // That is the point.
	}
	shapes := []shape{
		{"a right one", &tls.Config{Certificates: []tls.Certificate{right}}, true},
		bad("signed by itself", nil, nil),
		bad("signed by a stranger", stranger, nil),
		bad("signed by one between who is not shown", between, nil),
		bad("for another name", ca, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"collector.example"} }),
		bad("for the common name alone", ca, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, nil }),
		bad("for a wildcard", ca, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"*", "*.0.0.1", "127.0.0.1"} }),
		bad("for another address", ca, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = []net.IP{net.IPv4(127, 0, 0, 2)}, nil }),
		bad("expired", ca, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
		bad("not valid yet", ca, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) }),
		bad("for clients", ca, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
		bad("signed by a leaf", leafAuthority(t, ca), nil),
		old("TLS 1.0", tls.VersionTLS10), old("TLS 1.1", tls.VersionTLS11),
	}
	w := lab.New(t)
	w.Write("ca.pem", string(ca.pem))
	w.Write(filepath.Join(".config", "hookspan", "hookspan.env"), "HOOKSPAN_IDLE_TIMEOUT=8760h\n")
	w.Play(task(t, "tls", "prompt", "read_file", "a.go", "done"))
	w.Settle()
	base := append(slices.Clone(w.Environ), "SSL_CERT_FILE="+filepath.Join(w.Home, "ca.pem"), "SSL_CERT_DIR=/nowhere",
		"OTEL_EXPORTER_OTLP_CERTIFICATE="+filepath.Join(w.Home, "ca.pem"), "OTEL_EXPORTER_OTLP_HEADERS=api-key=canary",
		"INFINIUM_AGENT_ID=agent-1", "INFINIUM_AGENT_SECRET=canary-secret")
	for _, s := range shapes {
		asked := 0
		server, err := faultserver.Start(faultserver.Options[faultserver.Answer, faultserver.Incoming]{
			Name: s.name, MaxRead: 1 << 20, TLS: s.tls,
			Read: func(in faultserver.Incoming) *faultserver.Incoming { return &in },
			// The trace stays waiting for the next shape.
			Choose: func(*faultserver.Incoming, func() (faultserver.Answer, bool)) faultserver.Answer {
				asked++
				return faultserver.Answer{Status: 503}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		count := func() (n int) {
			server.Locked(func() { n, asked = asked, 0 })
			return n
		}
		kinds := switches
		if s.good || !proof.Soak() {
			kinds = []string{"NONE=1", strings.Join(switches, "\n")}
		}
		for _, kind := range kinds {
			// The last GODEBUG is the one that counts.
			env := append(slices.Clone(base), strings.Split(kind, "\n")...)
			for destination, settings := range map[string][]string{
				"otlp": {"HOOKSPAN_EXPORTERS=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT=" + server.Base()},
				"otlp, as JSON to localhost": {
					"HOOKSPAN_EXPORTERS=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json",
					"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.Base(),
				},
				"infinium": {"HOOKSPAN_EXPORTERS=infinium", "INFINIUM_BASE_URL=" + server.Base()},
			} {
				w.Environ = append(slices.Clone(env), settings...)
				out, errs, _ := w.Hookspan("flush", "--other-settings")
				if n := count(); s.good != (n > 0) {
					r.Break("%s, %s, %.60s: %d requests reached the server: %s%s", s.name, destination, kind, n, out, errs)
				}
				r.Trial(1)
			}
			w.Environ = env
			w.Write(filepath.Join(".cline", "hooks.json"), fmt.Sprintf(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"http","url":%q,"headers":{"x":"canary"}}]}]}}`, server.Base()))
			call := clineEvent(t, "hooked", "PreToolUse", object{"preToolUse": object{"toolName": "read_file", "parameters": object{"path": s.name + kind}}})
			if err := w.TryHook("PreToolUse", call.Payload); err != nil {
				r.Break("%s: %v", s.name, err)
			}
			if n := count(); s.good != (n > 0) {
				r.Break("%s, http hook, %.60s: %d requests reached the server", s.name, kind, n)
			}
			r.Trial(1)
		}
		server.Close()
	}
}

// leafAuthority is a certificate that may not sign others, and signs.
func leafAuthority(t *testing.T, by *authority) *authority {
	t.Helper()
	_, a := sign(t, leaf(nil), by)
	return a
}
