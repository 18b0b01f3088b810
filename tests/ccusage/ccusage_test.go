package ccusage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

//go:embed npm/package.json npm/package-lock.json
var manifests embed.FS

// recordings are sessions of Claude Code: turns, several models, subagents, forks,
// interruptions, rows that repeat.
const recordings = "../../internal/transcript/testdata/claude"

// variants is how many sessions are made of each recorded one, on different days, with
// different models and numbers.
const variants = 6

// models are those that both programs know the price of.
var models = []string{"claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805", "claude-haiku-4-5-20251001", "claude-opus-4-5-20251101"}

// usage is what one model was used for on one day.
type usage struct {
	Input, CacheRead, CacheWrite, Output int64
	Cost                                 float64
}

func TestSumsEqualThoseOfCcusage(t *testing.T) {
	p := install(t)
	t.Run("recorded", p.testRecordings)
	t.Run("alike", p.testFormsThatBothReadAlike)
	t.Run("apart", p.testFormsThatDiffer)
}

// programs are the paths of the programs.
type programs struct{ ccusage, hookspan string }

func (p *programs) testRecordings(t *testing.T) {
	home := t.TempDir()
	made := makeSessions(t, filepath.Join(home, ".claude", "projects"))
	days := make([]string, variants)
	for v := range days {
		days[v] = fmt.Sprintf("2026-10-%02d", 1+v)
	}
	theirs := p.theirSums(t, home)
	ours := p.ourSums(t, home, days)
	if len(theirs) < variants*2 {
		t.Fatalf("ccusage found %d sums, want more: the sessions are wrong", len(theirs))
	}
	compare(t, theirs, ours)
	t.Logf("%d sessions, %d sums by day and model", made, len(theirs))
}

// install installs ccusage and builds hookspan.
func install(t *testing.T) *programs {
	t.Helper()
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	command, err := rig.Program{Name: "ccusage", Manifest: manifests, Folder: "npm", Path: "@ccusage/ccusage-linux-x64/bin/ccusage"}.Command(t.Context(), cache)
	rig.Check(t, "ccusage", err)
	program := command[0]
	if err := os.Chmod(program, 0o755); err != nil { //nolint:gosec // The package has it without a mode.
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := built.Put(t.Context(), bin, "cmd/hookspan"); err != nil {
		t.Fatal(err)
	}
	return &programs{program, built.Program(bin, "hookspan")}
}

func environ(home string) []string {
	return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "HOOKSPAN_RETENTION=0"}
}

// compare compares the sums by day and model.
func compare(t *testing.T, theirs, ours map[string]usage) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		want, got := theirs[key], ours[key]
		if math.Abs(want.Cost-got.Cost) > 1e-9 {
			t.Errorf("%s: cost %.9f, ccusage says %.9f", key, got.Cost, want.Cost)
		}
		if want.Cost, got.Cost = 0, 0; want != got {
			t.Errorf("%s: %+v, ccusage says %+v", key, got, want)
		}
	}
	for key := range ours {
		if _, ok := theirs[key]; !ok {
			t.Errorf("%s: %+v, ccusage has nothing", key, ours[key])
		}
	}
}

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	ids   = regexp.MustCompile(`\b(msg|req|toolu)_[A-Za-z0-9_]+`)
	days  = regexp.MustCompile(`"20\d\d-\d\d-\d\dT`)
)

// makeSessions writes variants of the recorded sessions and returns how many.
func makeSessions(t *testing.T, to string) (sessions int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordings, "*", "projects"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded sessions: %v", err)
	}
	for _, from := range files {
		for v := range variants {
			err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
					return err
				}
				rel, err := filepath.Rel(from, path)
				if err != nil {
					return err
				}
				if !strings.Contains(rel, "subagents") {
					sessions++
				}
				text, err := os.ReadFile(path) //nolint:gosec // The test's own data.
				if err != nil {
					return err
				}
				name := filepath.Join(to, vary(rel, v))
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					return err
				}
				return os.WriteFile(name, varyRows(t, text, v), 0o600)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return sessions
}

// vary gives identifiers and days other values.
func vary(text string, variant int) string {
	text = uuids.ReplaceAllStringFunc(text, func(id string) string {
		sum := sha256.Sum256(fmt.Append(nil, variant, id))
		return fmt.Sprintf("%x-%x-4%x-a%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])[:36]
	})
	text = ids.ReplaceAllString(text, fmt.Sprintf("${0}v%d", variant))
	return days.ReplaceAllString(text, fmt.Sprintf(`"2026-10-%02dT`, 1+variant))
}

// varyRows gives each request a model and numbers by its identifier. Rows are written
// as Claude Code does, without white space.
func varyRows(t *testing.T, text []byte, variant int) []byte {
	t.Helper()
	var out bytes.Buffer
	lines := slices.Collect(bytes.Lines([]byte(vary(string(text), variant))))
	last := make(map[string]int) // of each request
	for i, line := range lines {
		var row struct{ Message struct{ ID string } }
		if json.Unmarshal(line, &row) == nil {
			last[row.Message.ID] = i
		}
	}
	for i, line := range lines {
		var row map[string]any
		if json.Unmarshal(line, &row) != nil {
			continue
		}
		message, _ := row["message"].(map[string]any)
		if u, _ := message["usage"].(map[string]any); u != nil && message["model"] != "<synthetic>" {
			id, _ := message["id"].(string)
			sum := sha256.Sum256([]byte(id))
			number := func(i int, below uint32) uint32 { return binary.LittleEndian.Uint32(sum[4*i:]) % below }
			message["model"] = models[number(0, uint32(len(models)))]
			fiveMinutes, hour := number(1, 5000), number(2, 2)*number(3, 5000)
			u["input_tokens"], u["output_tokens"], u["cache_read_input_tokens"] = number(4, 1000), number(5, 3000), number(6, 200_000)
			if last[id] != i {
				u["output_tokens"] = 1 // rows before the last one have the count when the answer began
			}
			u["cache_creation_input_tokens"] = fiveMinutes + hour
			u["cache_creation"] = map[string]any{"ephemeral_5m_input_tokens": fiveMinutes, "ephemeral_1h_input_tokens": hour}
			delete(u, "iterations")
		}
		b, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(b, '\n'))
	}
	return out.Bytes()
}

func command(t *testing.T, environ []string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...) //nolint:gosec // The test's own programs.
	var stderr bytes.Buffer
	cmd.Env, cmd.Stderr, cmd.Dir = environ, &stderr, t.TempDir()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, out, &stderr)
	}
	return out
}

func (p *programs) theirSums(t *testing.T, home string) map[string]usage {
	t.Helper()
	var report struct {
		Daily []struct {
			Date            string
			Period          string
			ModelBreakdowns []struct {
				ModelName                                                       string
				InputTokens, OutputTokens, CacheCreationTokens, CacheReadTokens int64
				Cost                                                            float64
				MissingPricing                                                  bool
			}
		}
	}
	text := command(t, environ(home), p.ccusage, "claude", "daily", "--json", "--offline", "--mode", "calculate", "--breakdown")
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatalf("ccusage: %v\n%.2000s", err, text)
	}
	out := make(map[string]usage)
	for _, day := range report.Daily {
		for _, m := range day.ModelBreakdowns {
			if m.MissingPricing {
				t.Errorf("ccusage has no price for %s", m.ModelName)
			}
			out[day.Date+day.Period+" "+m.ModelName] = usage{
				m.InputTokens + m.CacheReadTokens + m.CacheCreationTokens, m.CacheReadTokens, m.CacheCreationTokens, m.OutputTokens, m.Cost,
			}
		}
	}
	return out
}

// ourSums imports the sessions and asks for the models of each day.
func (p *programs) ourSums(t *testing.T, home string, days []string) map[string]usage {
	t.Helper()
	command(t, environ(home), p.hookspan, "import", "claude")
	out := make(map[string]usage)
	for _, day := range days {
		var report struct {
			Groups []struct {
				Key   string
				Usage *struct {
					InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens int64
					CostUSD                                                      float64
				}
				UnpricedModels []string
			}
		}
		text := command(t, environ(home), p.hookspan, "stats", "--by", "model", "--since", day, "--until", day, "--json")
		if err := json.Unmarshal(text, &report); err != nil {
			t.Fatalf("hookspan stats: %v\n%.2000s", err, text)
		}
		for _, g := range report.Groups {
			if u := g.Usage; u != nil {
				out[day+" "+g.Key] = usage{u.InputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.OutputTokens, u.CostUSD}
			}
		}
	}
	return out
}
