package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/budget"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/outbound"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/termtext"
)

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
	s := p.setup
	if p.Store == nil || s.Config.Webhook() == nil {
		return false
	}
	used, err := budget.Look(ctx, p.Store, s.Config, s.Limits, s.Now())
	waits := false
	if len(used) > 0 && err == nil {
		err = budget.Send(ctx, filepath.Join(s.Config.StateDir, "budgets", "sent.json"), used, s.Now(), func(f budget.Figure) error {
			d := p.destination(ctx, config.DestinationBudget)
			err := p.waits(&d, pass, &deliver.Result{})
			waits = err != nil
			if waits {
				return err
			}
			return p.post(ctx, f)
		})
	}
	if err != nil && !waits && ctx.Err() == nil {
		p.Deliverer.Log("budget: " + termtext.Message(err))
	}
	return err != nil && ctx.Err() == nil
}

// post sends a figure to the webhook, redacted. No error has more of the address than its host.
func (p *Pipeline) post(ctx context.Context, f budget.Figure) error {
	cfg, u, parts := p.setup.Config, p.setup.Config.Webhook(), make(map[string]string)
	for part := range strings.SplitSeq(u.Path, "/") {
		parts[part] = part // where services have their credential
	}
	f.Text, f.Sent = "hookspan: budget "+f.Level+": "+f.Text+", since "+f.From.Format("2006-01-02 15:04"), ""
	secrets, message := outbound.NewSecrets(u, parts), rawjson.Clean(rawjson.Encode(f), configured.Always(cfg).String)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(message))
	if err != nil {
		return secrets.CleanError(err)
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := outbound.New(outbound.Options{Timeout: 10 * time.Second, Once: true, Secrets: secrets, AnyUser: cfg.AllowOtherUsers}).Do(req)
	if err == nil && (answer.Status < 200 || answer.Status > 299) {
		after, _ := outbound.RetryAfter(answer.Header, time.Now())
		said := outbound.Line(fmt.Sprintf("%d %s %s", answer.Status, http.StatusText(answer.Status), answer.Body), 200)
		err = &deliver.Error{Err: errors.New(secrets.Clean(said)), After: after, Denied: outbound.OfSender(answer.Status)}
	}
	if err == nil || ctx.Err() == nil {
		p.Deliverer.Answered(config.DestinationBudget, err)
	}
	return err
}
