package deliver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/checkout"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// TestRootsHaveTheBranchOfTheirEnd delivers two turns of a session, each on another branch, to one
// destination as they end, and to another one at last, when a third branch is checked out.
func TestRootsHaveTheBranchOfTheirEnd(t *testing.T) {
	b := newBench(t)
	look := &checkout.Look{Git: "/w/.git", Moved: b.clock.Now().Add(-time.Hour), Logged: b.clock.Now().Add(-time.Hour)}
	switchTo := func(branch string) {
		if look.Repository.Branch != "" {
			look.Log += fmt.Sprintf("%040d %040d a <a@example.com> 0 +0000\tcheckout: moving from %s to %s\n", 0, 0, look.Repository.Branch, branch)
			look.Size, look.Moved, look.Logged = int64(len(look.Log)), b.clock.Now(), b.clock.Now()
		}
		look.Repository = hook.Repository{Name: "shop", URL: "https://git.example/a/shop", Branch: branch, Revision: "1c29f8"}
	}
	deliver := func(name string, c *memory) {
		d := b.claudeDeliverer(nil, Destination{Name: name, Client: c, Local: name == "store"})
		d.Look = func(dir string) *checkout.Look {
			if dir != "/w" {
				t.Errorf("looked at %s", dir)
			}
			now := *look
			return &now
		}
		b.clock.Advance(time.Minute)
		b.run(d, Pass{})
	}
	roots := func(c *memory) (got [][4]string) {
		for _, span := range c.spans {
			if a := span.GetAttributes(); otlp.Text(a, otelmap.KeyOperation) == otelmap.OpInvokeAgent {
				got = append(got, [4]string{otlp.Text(a, otelmap.KeyRepositoryName), otlp.Text(a, otelmap.KeyRepositoryURL), otlp.Text(a, otelmap.KeyBranch), otlp.Text(a, otelmap.KeyRevision)})
			}
		}
		slices.SortFunc(got, func(a, b [4]string) int { return -strings.Compare(a[2], b[2]) })
		return got
	}
	store, file := &memory{}, &memory{}
	switchTo("main")
	b.append(turn("one")...)
	deliver("store", store)
	switchTo("fix/login")
	b.clock.Advance(time.Minute)
	b.append(turn("two")...)
	deliver("store", store)
	b.clock.Advance(time.Minute)
	switchTo("later")
	deliver("file", file)
	of := func(branch string) [4]string {
		return [4]string{"shop", "https://git.example/a/shop", branch, "1c29f8"}
	}
	want := [][4]string{of("main"), of("fix/login")}
	if diff := cmp.Diff(want, roots(store)); diff != "" {
		t.Errorf("roots as they end (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, roots(file)); diff != "" {
		t.Errorf("roots later (-want +got):\n%s", diff)
	}
}
