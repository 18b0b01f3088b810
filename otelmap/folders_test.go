package otelmap

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// TestAWorkspaceOfSeveralFoldersNamesThemAll has a call for each spelling of a path.
func TestAWorkspaceOfSeveralFoldersNamesThemAll(t *testing.T) {
	folders := []string{"/w/app", "/w/api", "/w/api/docs", "/w/the web"}
	for input, want := range map[string]string{
		`{"path":"/w/api/main.go"}`:                                             "/w/api",
		`{"file_path":"/w/api/docs/a.md","old_string":"/w/app/x"}`:              "/w/api/docs",
		`{"path":"src/a.ts"}`:                                                   "/w/app",
		`{"absolutePath":"../api/a.go"}`:                                        "/w/api",
		`{"path":"@api:cmd/a.go"}`:                                              "/w/api",
		`{"files":[{"path":"/w/api/a.go"}]}`:                                    "/w/api",
		`{"paths":["/w/api/docs"]}`:                                             "/w/api/docs",
		`{"command":"make"}`:                                                    "/w/app",
		`{"command":["bash","-lc","cd /w/api && make"]}`:                        "/w/api",
		`{"commands":["cd \"/w/api/docs\"; make"]}`:                             "/w/api/docs",
		`{"command":"cd \"/w/the web\" && make"}`:                               "/w/the web",
		`{"command":"cd '/w/the web/x'; make"}`:                                 "/w/the web",
		`{"command":"cd /w/the\\ web; make"}`:                                   "/w/the web",
		`{"command":"cd /w/api&&make"}`:                                         "/w/api",
		`{"cmd":"make","workdir":"/w/api"}`:                                     "/w/api",
		`{"input":"*** Begin Patch\n*** Update File: /w/api/a.go\n@@"}`:         "/w/api",
		`{"command":["apply_patch","*** Begin Patch\n*** Add File: a.go\n+x"]}`: "/w/app",
		`{"path":"/w/apis/a.go"}`:                                               "",
		`{"path":"/etc/hosts"}`:                                                 "",
		`{"url":"http://a.test/"}`:                                              "",
		`{"path":"~/a.go"}`:                                                     "",
		`{"command":"cd - && make"}`:                                            "",
		`{"command":"cd ~ && make"}`:                                            "",
		`{"command":"cd \"$OTHER/api\" && make"}`:                               "",
		`{"path":"routes/$id.ts"}`:                                              "/w/app",
		`{"path":7}`:                                                            "",
		`[]`:                                                                    "",
		``:                                                                      "",
	} {
		for _, hooks := range []bool{true, false} {
			pre, post := tool(1, hook.KindToolStart, "t", "c1"), tool(2, hook.KindToolEnd, "t", "c1")
			pre.Tool.Input, post.Tool.Input = input, input
			begin, tr := prompt(0, "go"), &hook.Transcript{Cwd: "/w/app"}
			events := []*hook.Event{&begin, &pre, &post}
			for _, e := range events {
				if e.Cwd = "/w/app"; hooks {
					e.Folders = folders
				}
			}
			if !hooks {
				tr.Folders = folders
			}
			for _, capture := range []Capture{CapturePreview, CaptureNone} {
				b := build(Options{Capture: capture}, Carry{}, logged(begin, pre, post, ev(3, hook.KindRunComplete)))
				for _, s := range spansOf(b, b.Runs(far)[0], tr) {
					switch otlp.Text(s.Attributes, KeyOperation) {
					case OpInvokeAgent:
						var got []string
						for _, v := range otlp.Find(s.Attributes, KeyFolders).GetArrayValue().GetValues() {
							got = append(got, v.GetStringValue())
						}
						if !slices.Equal(got, folders) {
							t.Errorf("the root names %q", got)
						}
					case OpExecuteTool:
						if got := otlp.Text(s.Attributes, KeyFolder); got != want {
							t.Errorf("%s (hooks: %v, %v): the call is in %q, want %q", input, hooks, capture, got, want)
						}
					}
				}
			}
		}
	}
	begin, call := prompt(0, "go"), tool(1, hook.KindToolStart, "/w/app/a", "c1")
	begin.Cwd, begin.Folders = "/w/app", []string{"/w/app"}
	b := build(Options{}, Carry{}, logged(begin, call, ev(3, hook.KindRunComplete)))
	for _, s := range spansOf(b, b.Runs(far)[0], nil) {
		if otlp.Find(s.Attributes, KeyFolders) != nil || otlp.Find(s.Attributes, KeyFolder) != nil {
			t.Error("one folder is named as several")
		}
	}
}

// TestFoldersOfAWorkspaceHaveOneSpelling has hooks and files that write the folders differently,
// and a call that went up from its folder.
func TestFoldersOfAWorkspaceHaveOneSpelling(t *testing.T) {
	for _, tt := range []struct {
		hooks, files, want []string
		before, after      string
		folder             string
	}{
		{lst(`c:\w\app`, `c:\w\api`), lst("C:/w/App", "C:/w/api/"), lst(`c:\w\app`, `c:\w\api`), `c:\w\api\x`, `c:\w\api`, `c:\w\api`},
		{lst("/w", "/w/api"), lst("/w/", "/w/api/"), lst("/w", "/w/api"), "/w/api", "/w", "/w"},
		{lst("/w"), lst("/w/"), nil, "/w/x", "/w", ""},
	} {
		begin, pre, post := prompt(0, "go"), tool(1, hook.KindToolStart, "Bash", "c1"), tool(2, hook.KindToolEnd, "Bash", "c1")
		pre.Tool.Input, post.Tool.Input = `{"command":"cd .."}`, `{"command":"cd .."}`
		for _, e := range []*hook.Event{&begin, &pre, &post} {
			e.Cwd, e.Folders = tt.before, tt.hooks
		}
		post.Cwd = tt.after
		b := build(Options{}, Carry{}, logged(begin, pre, post, ev(3, hook.KindRunComplete)))
		for _, s := range spansOf(b, b.Runs(far)[0], &hook.Transcript{Folders: tt.files}) {
			switch otlp.Text(s.Attributes, KeyOperation) {
			case OpInvokeAgent:
				var got []string
				for _, v := range otlp.Find(s.Attributes, KeyFolders).GetArrayValue().GetValues() {
					got = append(got, v.GetStringValue())
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("the root names %q, want %q", got, tt.want)
				}
			case OpExecuteTool:
				if got := otlp.Text(s.Attributes, KeyFolder); got != tt.folder {
					t.Errorf("the call is in %q, want %q", got, tt.folder)
				}
			}
		}
	}
}

func lst(folders ...string) []string { return folders }

// TestRequestsAreOfTheirRepository has a run that ends on a branch of the same name in another repository.
func TestRequestsAreOfTheirRepository(t *testing.T) {
	place := func(second int, name, branch string) hook.Checkout {
		return hook.Checkout{At: epoch.Add(time.Duration(second) * time.Second), Repository: hook.Repository{Name: name, URL: "https://git.example/a/" + name, Branch: branch}}
	}
	request := func(second int) hook.Request {
		at := epoch.Add(time.Duration(second) * time.Second)
		return hook.Request{Kind: hook.RequestSingle, ID: fmt.Sprint("m", second), Turn: "t", Start: at, End: at.Add(time.Second), Usage: &hook.Usage{Input: 1}}
	}
	b := build(Options{}, Carry{}, logged(prompt(0, "go"), ev(9, hook.KindRunComplete)))
	b.In(hook.Checkouts{place(0, "shop", "fix"), place(3, "web", "fix"), place(5, "web", "main"), place(7, "web", "fix")}, nil)
	tr := &hook.Transcript{Requests: []hook.Request{request(1), request(3), request(5), request(7)}}
	var got []string
	for _, s := range spansOf(b, b.Runs(far)[0], tr) {
		a := s.Attributes
		got = append(got, strings.Join([]string{otlp.Text(a, KeyOperation), otlp.Text(a, KeyRepositoryName), otlp.Text(a, KeyRepositoryURL), otlp.Text(a, KeyBranch)}, " "))
	}
	slices.Sort(got)
	want := []string{"chat   ", "chat   ", "chat   main", "chat shop https://git.example/a/shop fix", "invoke_agent web https://git.example/a/web fix"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
