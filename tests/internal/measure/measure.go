// Package measure is what the programs that measure hookspan share: their main,
// their parts and how a part's table reaches a page, the build of the programs,
// and the receiver process that counts what arrives.
package measure

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// Main runs a program and exits. An interrupt cancels the context, so that the
// program can end its processes and remove its files.
func Main(program string, run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(1)
	}
}

// Part is one table of a program.
type Part[R any] struct {
	// Name selects the part with -part, and names its file and its place in the page.
	Name string
	// Page is where -publish writes the table; if empty, no page has it.
	Page string
	Run  R
}

// Names returns the parts' names with commas between.
func Names[R any](parts []Part[R]) string {
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	return strings.Join(names, ",")
}

// Choose returns the parts that the value of -part names, in its order; all of
// them if it is empty.
func Choose[R any](names string, parts []Part[R]) (chosen []Part[R], err error) {
	if names == "" {
		return parts, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(parts, func(p Part[R]) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("-part %q: want some of %s", name, Names(parts))
		}
		chosen = append(chosen, parts[i])
	}
	return chosen, nil
}

// Show prints a table below a line with the date, the machine and Go's version, and
// saves it as proof.Save does. If page is not empty it also writes it into the page,
// between the marks of that name.
func Show(out io.Writer, page, name, table string) error {
	text := fmt.Sprintf("%s, %s, %s\n\n%s", time.Now().UTC().Format(time.DateOnly), proof.Machine(), runtime.Version(), table)
	if _, err := fmt.Fprintln(out, text); err != nil {
		return err
	}
	root, err := built.Root()
	if err != nil {
		return err
	}
	if err := proof.Save(root, name, text); err != nil || page == "" {
		return err
	}
	return proof.PublishAt(root, page, name, text)
}
