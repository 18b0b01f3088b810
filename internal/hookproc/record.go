package hookproc

import (
	"fmt"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/logfile"
	"github.com/hookspan/hookspan/spool"
)

// Record stores one event as a hook does and starts a delivery where one is due,
// for an event that came by another way than a hook's standard input. It gives no
// answer. It reports false where the user wants nothing recorded, and for an event
// of another agent; the error says that the event should have been stored and is
// not.
func (p *Process) Record() (stored bool, err error) {
	cfg, _ := config.Load(config.Input{
		Environ: p.Environ, Home: p.Home, GOOS: p.GOOS, ReadFile: ReadSettings,
	})
	log := logfile.Log{Path: cfg.LogPath(), Who: p.Host.program(), Now: p.Now}
	p.stateDir = cfg.StateDir
	if p.off(cfg) {
		return false, nil
	}
	in, err := readPayload(p.Stdin, int(cfg.MaxEventBytes), (*spill)(nil))
	if err != nil {
		return false, fmt.Errorf("read event: %w", err)
	}
	head := p.Host.Peek(in.data, p.Event)
	if head.Agent != "" {
		p.leaveAlone(head, cfg, log)
		return false, nil
	}
	sp, err := spool.Open(cfg.SpoolDir(), spool.Options{Sync: cfg.SpoolSync == "always"})
	if err != nil {
		return false, err
	}
	defer func() { _ = sp.Close() }()
	if err := p.store(cfg, sp, head, in); err != nil {
		return false, err
	}
	p.deliver(sp, head, log)
	return true, nil
}
