package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// tokenTime is how long the program of tokens may take, maxToken how much it may print,
// in bytes, and tokenSpare how long before its end a token counts as ended. tokenRest is how
// long a token that was refused as soon as it was printed is not asked for again.
const (
	tokenTime  = 5 * time.Second
	maxToken   = 64 << 10
	tokenSpare = 10 * time.Second
	tokenRest  = time.Minute
)

// tokens are headers that a program prints, for credentials that expire.
type tokens struct {
	program string
	// cache is the file that keeps them for other processes, for as long as the program
	// says that they are good. If empty, none does.
	cache string
	now   func() time.Time

	mu  sync.Mutex
	got *token
	// rest is until when a refusal does not make the program run again.
	rest time.Time
}

// again reports whether to ask for other headers after the endpoint has refused some. fresh
// reports that these were asked for just now.
func (t *tokens) again(fresh bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fresh {
		t.rest = t.now().Add(tokenRest)
	}
	return !fresh && !t.now().Before(t.rest)
}

// token is what the program printed. Without Until it is good in this process until the
// endpoint refuses it.
type token struct {
	Program string            `json:"program"`
	Headers map[string]string `json:"headers"`
	Until   time.Time         `json:"until,omitzero"`
}

// headers returns the headers. refused are those that the endpoint has refused: others
// are asked for.
func (t *tokens) headers(ctx context.Context, refused map[string]string) (map[string]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.got == nil && t.cache != "" {
		var kept token
		if data, err := regular.Read(t.cache, regular.Options{Max: maxToken, NoLink: true, Private: true}); err == nil && json.Unmarshal(data, &kept) == nil && kept.Program == t.program && !kept.Until.IsZero() {
			t.got = &kept
		}
	}
	if g := t.got; g != nil && (g.Until.IsZero() || t.now().Add(tokenSpare).Before(g.Until)) && (refused == nil || !maps.Equal(refused, g.Headers)) {
		return g.Headers, nil
	}
	t.got = nil
	got, err := t.ask(ctx)
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("HOOKSPAN_OTLP_HEADERS_COMMAND %s: %w", t.program, err)}
	}
	t.got = got
	if t.cache != "" && !got.Until.IsZero() {
		if data, err := json.Marshal(got); err == nil {
			_ = atomicfile.Write(t.cache, data, atomicfile.Options{Mode: 0o600}) // The next process asks again.
		}
	}
	return got.Headers, nil
}

// ask runs the program.
func (t *tokens) ask(ctx context.Context) (*token, error) {
	f, _, err := regular.Open(t.program, regular.Options{Private: true})
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	within, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	cmd := exec.CommandContext(within, t.program) //nolint:gosec // The user's or the administrator's file names it.
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &limited{out: &out, left: maxToken}
	switch err := cmd.Run(); {
	case within.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("no answer within %v", tokenTime)
	case err != nil:
		return nil, err // Its output may hold a token.
	}
	headers, seconds, err := parseTokens(out.Bytes())
	if err != nil {
		return nil, err
	}
	got := &token{Program: t.program, Headers: headers}
	if seconds > 0 {
		got.Until = t.now().Add(time.Duration(seconds) * time.Second)
	}
	return got, nil
}

// limited is a buffer that refuses more than it has room for. It does not embed the
// buffer, whose ReadFrom would take in everything.
type limited struct {
	out  *bytes.Buffer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	l.left -= len(b)
	if l.left < 0 {
		return 0, fmt.Errorf("more than %d bytes of output", maxToken)
	}
	return l.out.Write(b)
}

// parseTokens reads headers: a JSON object of strings, or lines of the form Name: value.
// expires_in is for how many seconds they are good.
func parseTokens(out []byte) (headers map[string]string, seconds int64, err error) {
	headers = make(map[string]string)
	add := func(name, value string) {
		if name == "expires_in" {
			seconds, _ = strconv.ParseInt(value, 10, 32)
			return
		}
		if name == "" || strings.ContainsFunc(name, notHeaderName) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			err = errors.New("the output has a line that is no header: want Name: value")
		}
		headers[http.CanonicalHeaderKey(name)] = value
	}
	out = bytes.TrimSpace(out)
	if bytes.HasPrefix(out, []byte("{")) {
		var members map[string]any
		if json.Unmarshal(out, &members) != nil {
			return nil, 0, errors.New("the output is broken JSON")
		}
		for name, value := range members {
			switch value := value.(type) {
			case string:
				add(name, value)
			case float64:
				add(name, strconv.FormatFloat(value, 'f', 0, 64))
			default:
				return nil, 0, fmt.Errorf("the output's member %q is no text", name)
			}
		}
	} else {
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSpace(line)
			if line != "" {
				name, value, _ := strings.Cut(line, ":")
				add(strings.TrimSpace(name), strings.TrimSpace(value))
			}
		}
	}
	if err == nil && len(headers) == 0 {
		err = errors.New("the output has no header")
	}
	return headers, seconds, err
}

func notHeaderName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
