package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/budget"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/outbound"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/termtext"
)

// webhookTime bounds a message with its answer.
const webhookTime = 10 * time.Second

// Budgets returns what is used of the user's budgets, by the local store as it is. Without both nothing is opened.
func (s *Setup) Budgets(ctx context.Context) ([]budget.Figure, error) {
	most, _ := s.Config.Budgets()
	if _, err := os.Stat(s.Config.StorePath()); len(most) == 0 || err != nil {
		return nil, nil
	}
	in, done, err := s.LocalStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = done() }()
	all, err := budget.Look(ctx, in, s.Config, s.Limits, s.Now())
	return slices.DeleteFunc(all, func(f budget.Figure) bool { return !f.Until.After(s.Now()) }), err
}

// sendBudgets sends the messages about budgets that are due, and reports whether some are left for a later delivery.
func (p *Pipeline) sendBudgets(ctx context.Context, pass deliver.Pass) (left bool) {
	if p.Store == nil || p.setup.Config.Webhook() == nil {
		return false
	}
	used, err := budget.Look(ctx, p.Store, p.setup.Config, p.setup.Limits, p.setup.Now())
	if len(used) > 0 && err == nil {
		left, err = p.sendUsed(ctx, pass, used)
	}
	if err != nil && ctx.Err() == nil {
		p.Deliverer.Log("budget: " + termtext.Message(err))
	}
	return (left || err != nil) && ctx.Err() == nil
}

// sendUsed notes what is due before it is sent, and then that it was taken, in a lock: a kill between costs the second
// note, and the message comes again with its id.
func (p *Pipeline) sendUsed(ctx context.Context, pass deliver.Pass, used []budget.Figure) (left bool, err error) {
	dir := filepath.Join(p.setup.Config.StateDir, "budgets")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	soon, cancel := context.WithTimeout(ctx, 2*webhookTime)
	defer cancel()
	lock, err := filelock.Folder(soon, dir)
	if err != nil {
		return false, fmt.Errorf("wait for another delivery: %w", err)
	}
	defer func() { _ = lock.Close() }()
	before, err := regular.Read(filepath.Join(dir, "sent.json"), regular.Options{Max: 1 << 20, NoLink: true})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	sent := budget.Sent{}
	if json.Unmarshal(before, &sent) != nil || sent.Version != 1 {
		sent = budget.Sent{Version: 1}
	}
	sent.Note(used, p.setup.Now())
	write := func() error {
		if text := rawjson.Encode(sent); text != string(before) {
			return atomicfile.Write(filepath.Join(dir, "sent.json"), []byte(text), atomicfile.Options{})
		}
		return nil
	}
	err = write()
	for _, f := range sent.Due(used) {
		d := p.destination(ctx, config.DestinationBudget)
		if err != nil || p.waits(&d, pass, &deliver.Result{}) != nil {
			return true, err
		}
		err = p.post(ctx, *f)
		if err == nil {
			f.Sent = f.Level
			err = write()
		}
	}
	return false, err
}

// post sends a figure to the webhook, redacted. No error has more of the address than its host.
func (p *Pipeline) post(ctx context.Context, f budget.Figure) error {
	cfg, u := p.setup.Config, p.setup.Config.Webhook()
	f.Text, f.Sent = "hookspan: budget "+f.Level+": "+f.Text+", since "+f.From.Format("2006-01-02 15:04"), ""
	parts := map[string]string{"path": u.Path} // where services have their credential
	for part := range strings.SplitSeq(u.EscapedPath(), "/") {
		parts[part], _ = url.PathUnescape(part)
	}
	secrets := outbound.NewSecrets(u, parts)
	message := rawjson.Clean(rawjson.Encode(f), configured.Always(cfg).String)
	req := &http.Request{Method: http.MethodPost, URL: u, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(message)), ContentLength: int64(len(message))}
	answer, err := outbound.New(outbound.Options{Timeout: webhookTime, Once: true, Secrets: secrets, AnyUser: cfg.AllowOtherUsers}).Do(req.WithContext(ctx))
	if err == nil && (answer.Status < 200 || answer.Status > 299) {
		after, _ := outbound.RetryAfter(answer.Header, time.Now())
		said := secrets.Clean(fmt.Sprintf("%d %s %s", answer.Status, http.StatusText(answer.Status), answer.Body))
		err = &deliver.Error{Err: errors.New(outbound.Line(said, 200)), After: after, Denied: outbound.OfSender(answer.Status)}
	}
	if err == nil || ctx.Err() == nil {
		p.Deliverer.Answered(config.DestinationBudget, err)
	}
	return err
}
