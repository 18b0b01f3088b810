package collector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

// engine is ClickHouse's engine behind its HTTP interface.
type engine struct {
	t       *testing.T
	address string
}

// newEngine starts one with the shipped tables.
func newEngine(t *testing.T) *engine {
	t.Helper()
	python := os.Getenv("CHDB_PYTHON")
	if python == "" {
		skip.Missing(t, "CHDB_PYTHON names no Python with chdb: make test-clickhouse installs one")
	}
	script, err := filepath.Abs(filepath.Join("testdata", "engine.py"))
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{t, addresses(t)()}
	dir := t.TempDir()
	c, err := otelcol.Start(t.Context(), otelcol.Options{
		Binary: python, Dir: dir, Args: []string{script, e.address, filepath.Join(dir, "db")}, Ready: []string{"http://" + e.address},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
	})
	for statement := range strings.SplitSeq(readClickHouse(t, "tables.sql"), ";\n") {
		if strings.TrimSpace(statement) != "" {
			e.run(statement)
		}
	}
	return e
}

func readClickHouse(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(shipped(t, filepath.Join("clickhouse", filepath.FromSlash(name))))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// row is a line of an answer, by column.
type row map[string]any

func (e *engine) run(sql string) (rows []row) {
	e.t.Helper()
	resp, err := http.Post("http://"+e.address+"/?default_format=JSON", "text/plain", strings.NewReader(sql)) //nolint:noctx // Of loopback.
	if err != nil {
		e.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		e.t.Fatalf("%v %s\n%s", err, body, sql)
	}
	var answer struct{ Data []row }
	if len(body) > 0 {
		if err := json.Unmarshal(body, &answer); err != nil {
			e.t.Fatalf("%v: %s", err, body)
		}
	}
	return answer.Data
}

// value is a number of a row; ClickHouse writes large ones as texts.
func (r row) value(column string) float64 {
	switch v := r[column].(type) {
	case float64:
		return v
	case string:
		var f float64
		_, _ = fmt.Sscan(v, &f)
		return f
	}
	return math.NaN()
}

// allTime puts a period into a query that has all spans.
var allTime = strings.NewReplacer(
	"{since:DateTime}", "toDateTime('2020-01-01 00:00:00')", "{until:DateTime}", "toDateTime('2035-01-01 00:00:00')", "{user:String}", "'user-7'",
)

// queries are the shipped ones by name.
func queries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(shipped(t, "clickhouse/tables.sql")), "queries", "*.sql"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d queries: %v", len(files), err)
	}
	out := map[string]string{}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".sql")
		out[name] = readClickHouse(t, "queries/"+name+".sql")
	}
	return out
}

func (e *engine) query(name string) []row {
	e.t.Helper()
	return e.run(allTime.Replace(queries(e.t)[name]))
}

// stats are what hookspan says of its store.
func (m *machine) stats(by string) (out struct {
	Totals store.Totals
	Groups []store.Group
},
) {
	m.t.Helper()
	args := []string{"stats", "--json"}
	if by != "" {
		args = append(args, "--by", by)
	}
	o := m.Call(lab.Call{Program: "hookspan", Args: args})
	if err := json.Unmarshal([]byte(o.Out), &out); err != nil {
		m.t.Fatalf("hookspan stats: %v: %s %s", err, o.Out, o.Err)
	}
	return out
}

// TestClickHouseHasTheFiguresOfTheStore sends sessions through hooks, a gateway and the
// exporter, and everything once more.
func TestClickHouseHasTheFiguresOfTheStore(t *testing.T) {
	e := newEngine(t)
	s := startShipped(t, shippedConfig{[]string{"gateway.yaml", "examples/clickhouse.yaml"}, map[string]string{
		"CLICKHOUSE_ENDPOINT": "http://" + e.address, "CLICKHOUSE_USER": "default", "CLICKHOUSE_PASSWORD": "",
	}}, "yaml:exporters::clickhouse: {compress: none, sending_queue: {batch: {flush_timeout: 200ms, min_size: 1}}}")
	m := newMachine(t, "1", s.listen)
	for range recordings {
		m.hooks()
	}
	if err := m.open(); err != nil {
		t.Fatal(err)
	}
	// One with the agent's files, which have tokens and cost.
	files := filepath.Join("..", "..", "internal", "demo", "task")
	if err := os.CopyFS(filepath.Join(m.Home, ".cline", "data", "tasks", "1795175957341"), os.DirFS(files)); err != nil {
		t.Fatal(err)
	}
	m.Play(lab.Recording(t, recordings[0].folder...))
	for range 60 {
		if err := m.store(); err != nil {
			t.Fatal(err)
		}
	}
	m.Settle()
	if left, _ := m.undelivered(); left != "" {
		t.Fatal(left)
	}
	spans := float64(len(m.stored()))
	arrived := func(rows float64) {
		t.Helper()
		var n float64
		if !until(t.Context(), patience, func() bool {
			n = e.run("SELECT count() AS n FROM otel.otel_traces")[0].value("n")
			return n >= rows
		}) {
			t.Fatalf("%v rows, want %v", n, rows)
		}
	}
	arrived(spans)
	compareFigures(t, e, m, "after one delivery")

	e.run("SYSTEM STOP MERGES otel.otel_traces")
	o := m.Call(lab.Call{Program: "hookspan", Args: []string{"export", "--all", "--format", "otlp"}})
	for dec := json.NewDecoder(strings.NewReader(o.Out)); dec.More(); {
		var doc json.RawMessage
		if err := dec.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post("http://"+s.listen+"/v1/traces", "application/json", bytes.NewReader(doc)) //nolint:noctx // Of loopback.
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Fatalf("the gateway answers %s", resp.Status)
		}
	}
	arrived(spans + 1)
	if !until(t.Context(), patience, func() bool {
		return e.run("SELECT min(n) AS least FROM (SELECT count() AS n FROM otel.otel_traces GROUP BY TraceId, SpanId)")[0].value("least") == 2
	}) {
		t.Fatal("not every span was delivered twice")
	}
	compareFigures(t, e, m, "after a second delivery of everything")
}

// figures are numbers by their names.
type figures map[string]float64

func rounded(f float64) float64 { return math.Round(f*1e9) / 1e9 }

func compareFigures(t *testing.T, e *engine, m *machine, when string) {
	t.Helper()
	all := m.stats("")
	ours, theirs := figures{}, figures{}
	usage := func(name string, u *store.Usage) {
		if u == nil {
			return
		}
		theirs[name+" in"], theirs[name+" out"] = float64(u.Input), float64(u.Output)
		if u.CostUSD != nil {
			theirs[name+" cost"] = rounded(*u.CostUSD)
		}
	}
	theirs["tasks"], theirs["calls"], theirs["failed calls"], theirs["denied calls"] = float64(all.Totals.Traces), float64(all.Totals.Calls), float64(all.Totals.Failures), float64(all.Totals.Denials)
	usage("all", all.Totals.Usage)
	total := e.query("totals")[0]
	ours["tasks"], ours["calls"], ours["failed calls"], ours["denied calls"] = total.value("tasks"), total.value("calls"), total.value("failed_calls"), total.value("denied_calls")
	ours["all in"], ours["all out"], ours["all cost"] = total.value("input_tokens"), total.value("output_tokens"), rounded(total.value("cost_usd"))
	for _, g := range m.stats("tool").Groups {
		theirs["tool "+g.Key+" calls"], theirs["tool "+g.Key+" failed"], theirs["tool "+g.Key+" denied"] = float64(g.Calls), float64(g.Failures), float64(g.Denials)
	}
	for _, r := range e.query("failures_by_tool") {
		name := fmt.Sprint("tool ", r["tool"])
		ours[name+" calls"], ours[name+" failed"], ours[name+" denied"] = r.value("calls"), r.value("failed"), r.value("denied")
	}
	for _, g := range m.stats("model").Groups {
		usage("model "+g.Key, g.Usage)
	}
	for _, r := range e.query("cost_by_model") {
		name := fmt.Sprint("model ", r["model"])
		ours[name+" in"], ours[name+" out"] = r.value("input_tokens"), r.value("output_tokens")
		if cost := r.value("cost_usd"); cost != 0 {
			ours[name+" cost"] = rounded(cost)
		}
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%s (-hookspan stats +ClickHouse):\n%s", when, diff)
	}
	if len(theirs) < 20 || theirs["failed calls"] == 0 || theirs["all in"] == 0 || theirs["all cost"] == 0 {
		t.Errorf("hookspan stats has too little to compare: %v", theirs)
	}
}

// million fills the table with a million spans of 83,334 runs, made by the engine.
const million = `INSERT INTO otel.otel_traces (Timestamp, TraceId, SpanId, SpanName, ServiceName, ResourceAttributes, SpanAttributes, Events.Timestamp, Events.Name, Events.Attributes, Duration)
WITH intDiv(number, 12) AS run, number % 12 AS nth
SELECT toDateTime64('2026-10-01 00:00:00', 9) + run * 60, leftPad(hex(sipHash64(run)), 32, '0'), leftPad(hex(number), 16, '0'), 'x',
	['cline', 'claude-code', 'codex'][1 + run % 3],
	map('team.id', concat('team-', toString(run % 40)), 'user.id', concat('user-', toString(run % 2000)), 'host.name', 'machine'),
	multiIf(
		nth = 0, map('gen_ai.operation.name', 'invoke_agent', 'hookspan.outcome', 'completed', 'hookspan.usage.input_tokens', '50000', 'hookspan.usage.output_tokens', '700',
			'hookspan.cost.usd', '0.25', 'vcs.repository.name', concat('repository-', toString(run % 300)), 'hookspan.host_version', '1.2'),
		nth < 5, map('gen_ai.operation.name', 'chat', 'gen_ai.request.model', concat('model-', toString(number % 5)), 'gen_ai.usage.input_tokens', '12500',
			'hookspan.cost.usd', '0.0625', 'gen_ai.output.messages', repeat('answer ', 40)),
		map('gen_ai.operation.name', 'execute_tool', 'gen_ai.tool.name', concat('tool-', toString(number % 20)), 'hookspan.mcp.server', if(number % 9 = 0, 'github', ''),
			'error.type', multiIf(number % 17 = 0, 'ToolError', number % 31 = 0, 'ToolDenied', ''), 'gen_ai.tool.call.arguments', concat('{"command":"go test ./p', toString(number % 100), '"}'))),
	[], if(number % 29 = 0, ['hookspan.permission_request'], []), [], 1000000 * (number % 100000)
FROM numbers(1000000)`

// TestClickHouseQueriesOverAMillionSpans prints the time of each query. A tenth of the
// spans is there twice.
func TestClickHouseQueriesOverAMillionSpans(t *testing.T) {
	e := newEngine(t)
	e.run("SYSTEM STOP MERGES otel.otel_traces")
	once := strings.Replace(million, "[], if(number % 29 = 0, ['hookspan.permission_request'], []), []", "if(number % 29 = 0, [toDateTime64(0, 9)], []), if(number % 29 = 0, ['hookspan.permission_request'], []), if(number % 29 = 0, [map('a', 'b')], [])", 1)
	e.run(once)
	e.run(strings.Replace(once, "numbers(1000000)", "numbers(100000)", 1))
	all := queries(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "delete_user" {
			continue
		}
		began := time.Now()
		rows := e.query(name)
		t.Logf("%-20s %4d ms, %d rows", name, time.Since(began).Milliseconds(), len(rows))
		if len(rows) == 0 {
			t.Errorf("%s has no rows", name)
		}
	}
	total := e.query("totals")[0]
	if total.value("tasks") != 83334 || total.value("cost_usd") != 83334*0.25 {
		t.Errorf("%v, want 83334 tasks, each once", total)
	}
	e.run("SYSTEM START MERGES otel.otel_traces")
	e.run(allTime.Replace(all["delete_user"]))
	if !until(t.Context(), patience, func() bool {
		return e.run("SELECT count() AS n FROM otel.spans WHERE User = 'user-7'")[0].value("n") == 0
	}) {
		t.Error("a deleted user has spans")
	}
	if left := e.query("totals")[0].value("tasks"); left != 83334-42 {
		t.Errorf("%v tasks are left, want all but the user's 42", left)
	}
}

// clickHouseBoard is the dashboard that the queries make.
func clickHouseBoard(t *testing.T) []byte {
	t.Helper()
	source := map[string]any{"type": "grafana-clickhouse-datasource", "uid": "${datasource}"}
	grafana := strings.NewReplacer("{since:DateTime}", "$__fromTime", "{until:DateTime}", "$__toTime")
	var panels []any
	all := queries(t)
	delete(all, "delete_user")
	for i, name := range slices.Sorted(maps.Keys(all)) {
		title, _, _ := strings.Cut(strings.TrimPrefix(all[name], "-- "), "\n")
		panels = append(panels, map[string]any{
			"id": i + 1, "type": "table", "title": title, "datasource": source, "options": map[string]any{"showHeader": true},
			"description": "The query " + name + ".sql over the period shown.",
			"gridPos":     map[string]any{"h": 8, "w": 12, "x": 12 * (i % 2), "y": 8 * (i / 2)},
			"fieldConfig": map[string]any{"defaults": map[string]any{}, "overrides": []any{map[string]any{
				"matcher": map[string]any{"id": "byName", "options": "cost_usd"}, "properties": []any{map[string]any{"id": "unit", "value": "currencyUSD"}},
			}}},
			"targets": []any{map[string]any{
				"refId": "A", "datasource": source, "editorType": "sql", "queryType": "table", "format": 1, "rawSql": grafana.Replace(all[name]),
			}},
		})
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]any{
		"uid": "hookspan-clickhouse", "title": "hookspan: the whole fleet", "tags": []string{"hookspan"}, "schemaVersion": 42, "editable": true,
		"time": map[string]any{"from": "now-30d", "to": "now"}, "timezone": "utc", "panels": panels,
		"templating": map[string]any{"list": []any{map[string]any{
			"name": "datasource", "label": "Data source", "type": "datasource", "query": "grafana-clickhouse-datasource", "current": map[string]any{}, "options": []any{},
		}}},
	}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestClickHouseDashboardIsOfTheQueries also asks each panel's query where there is an
// engine.
func TestClickHouseDashboardIsOfTheQueries(t *testing.T) {
	want := clickHouseBoard(t)
	file := grafanaFile(t, "hookspan-clickhouse.json")
	if golden.Updating() {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not of these queries (%v): go -C tests test ./collector -run ClickHouseDashboard -update", filepath.Base(file), err)
	}
	e := newEngine(t)
	period := strings.NewReplacer("$__fromTime", "toDateTime('2026-01-01 00:00:00')", "$__toTime", "toDateTime('2027-01-01 00:00:00')")
	var board struct {
		Panels []struct {
			Targets []struct {
				RawSQL string `json:"rawSql"`
			}
		}
	}
	if err := json.Unmarshal(got, &board); err != nil || len(board.Panels) < 10 {
		t.Fatalf("%d panels: %v", len(board.Panels), err)
	}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			e.run(period.Replace(q.RawSQL))
		}
	}
}
