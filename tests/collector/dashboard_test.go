package collector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/built"
)

// dashboard is what these tests read of the dashboard's JSON; dashboard_schema_test.go
// holds all of it against Grafana's own types.
type dashboard struct {
	Inputs []struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		PluginID string `json:"pluginId"`
	} `json:"__inputs"`
	Requires []struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	} `json:"__requires"`
	ID            *int   `json:"id"`
	UID           string `json:"uid"`
	SchemaVersion int    `json:"schemaVersion"`
	Templating    struct {
		List []boardVariable `json:"list"`
	} `json:"templating"`
	Panels []boardPanel `json:"panels"`
}

type boardVariable struct {
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	Query      json.RawMessage `json:"query"`
	Datasource *boardSource    `json:"datasource"`
	Current    struct {
		Value any `json:"value"`
	} `json:"current"`
}

// ask is the query of a variable of type query.
func (v *boardVariable) ask() (string, error) {
	var q struct{ Query string }
	err := json.Unmarshal(v.Query, &q)
	return q.Query, err
}

type boardSource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type boardPanel struct {
	ID          int          `json:"id"`
	Type        string       `json:"type"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Datasource  *boardSource `json:"datasource"`
	Interval    string       `json:"interval"`
	Grid        struct {
		H, W, X, Y int
	} `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []boardTarget `json:"targets"`
}

type boardTarget struct {
	RefID      string       `json:"refId"`
	Datasource *boardSource `json:"datasource"`
	Expr       string       `json:"expr"`
	Legend     string       `json:"legendFormat"`
	Instant    bool         `json:"instant"`
	Range      bool         `json:"range"`
	Format     string       `json:"format"`
}

const boardDatasource = "${datasource}"

// The values of the variable source, which the label gateway matches.
const ofGateways, ofMachines = ".+", "^$"

// grafanaFile is the path of a file of collector-config/grafana.
func grafanaFile(t *testing.T, name string) string {
	t.Helper()
	root, err := built.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "collector-config", "grafana", filepath.FromSlash(name))
}

func readDashboard(t *testing.T) (d dashboard, raw []byte) {
	t.Helper()
	raw, err := os.ReadFile(grafanaFile(t, "hookspan.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d, raw
}

// charts are the panels that show something, without the rows' titles.
func (d *dashboard) charts() []boardPanel {
	return slices.DeleteFunc(slices.Clone(d.Panels), func(p boardPanel) bool { return p.Type == "row" })
}

func (p *boardPanel) String() string { return fmt.Sprintf("panel %d %q", p.ID, p.Title) }

// TestDashboardCanBeImported is about what Grafana asks of a file that another
// Grafana is to import, and of one it reads by itself.
func TestDashboardCanBeImported(t *testing.T) {
	d, raw := readDashboard(t)
	if d.ID != nil || len(d.UID) < 8 || len(d.UID) > 40 {
		t.Errorf("id %v and uid %q; want no id, which is one Grafana's own, and a uid of 8 to 40 characters", d.ID, d.UID)
	}
	// 42 is the newest that Grafana has for dashboards of this form.
	if d.SchemaVersion != 42 {
		t.Errorf("schemaVersion %d, want 42", d.SchemaVersion)
	}
	if len(d.Inputs) != 1 || d.Inputs[0].Type != "datasource" || d.Inputs[0].PluginID != "prometheus" {
		t.Fatalf("__inputs %+v; want one data source of prometheus", d.Inputs)
	}
	input := "${" + d.Inputs[0].Name + "}"
	if n := bytes.Count(raw, []byte(input)); n != 1 {
		t.Errorf("%s is used %d times; want once, in the variable that all else goes through", input, n)
	}
	wanted := map[string]bool{"datasource prometheus": true, "grafana grafana": true}
	for _, p := range d.charts() {
		wanted["panel "+p.Type] = true
	}
	said := map[string]bool{}
	for _, r := range d.Requires {
		said[r.Type+" "+r.ID] = true
	}
	for w := range wanted {
		if !said[w] {
			t.Errorf("__requires leaves out %q", w)
		}
	}
	if len(said) != len(wanted) {
		t.Errorf("__requires names %v, used are %v", said, wanted)
	}
	for _, v := range d.Templating.List {
		switch {
		case v.Name == "datasource":
			if v.Type != "datasource" || string(v.Query) != `"prometheus"` || v.Current.Value != input {
				t.Errorf("variable datasource: %+v", v)
			}
		case v.Name == "source":
			if v.Type != "custom" || string(v.Query) != `"Gateways : `+ofGateways+`, Machines : `+ofMachines+`"` || v.Current.Value != ofGateways {
				t.Errorf("variable source: %+v", v)
			}
		case v.Type != "query" || v.Datasource == nil || v.Datasource.UID != boardDatasource:
			t.Errorf("variable %s: type %s, data source %+v; want a query to %s", v.Name, v.Type, v.Datasource, boardDatasource)
		case !bytes.Contains(raw, []byte("$"+v.Name)):
			t.Errorf("variable %s is not used", v.Name)
		}
	}
}

// addedForm is the form of "what was added in a window", which docs/dashboards.md
// explains: one series and one window, several times.
var (
	addedForm   = regexp.MustCompile(`\(\n  increase\((?s:.*?)\n\)`)
	oneSelector = regexp.MustCompile(`\w+\{[^}]*\}`)
)

// TestDashboardAsksForOneSeriesAtATime looks for a query whose parts are of
// different series or different windows: one that was changed in part.
func TestDashboardAsksForOneSeriesAtATime(t *testing.T) {
	d, _ := readDashboard(t)
	forms := 0
	for _, p := range d.charts() {
		for _, q := range p.Targets {
			for _, form := range addedForm.FindAllString(q.Expr, -1) {
				forms++
				x := oneSelector.FindString(form)
				rest := strings.ReplaceAll(strings.ReplaceAll(form, x, "x"), strings.TrimSuffix(x, "}")+`, gateway=""}`, "m")
				at := regexp.MustCompile(`^\(\n  increase\(x(\[.*?)\)`).FindStringSubmatch(rest)
				if at == nil {
					t.Errorf("%v, query %s: %s", &p, q.RefID, form)
					continue
				}
				before := "[1d] offset " + strings.Trim(at[1], "[]")
				if strings.Contains(at[1], " offset -") {
					before = "[1d]"
				}
				want := fmt.Sprintf("(\n  increase(x%[1]s) and resets(x%[1]s) > 0\n"+
					"  or last_over_time(x%[1]s) - ((last_over_time(x%[2]s) or last_over_time(m%[3]s)) <= last_over_time(x%[1]s))\n  or last_over_time(x%[1]s)\n)",
					at[1], before, strings.Replace(before, "[1d]", "[30d]", 1))
				if rest != want || !strings.Contains(x, `gateway=~"$source"`) {
					t.Errorf("%v, query %s, where x is %s:\n%s\nwant\n%s", &p, q.RefID, x, rest, want)
				}
			}
		}
	}
	if forms < 40 {
		t.Errorf("only %d queries of the form that was looked for", forms)
	}
}

var variableUse = regexp.MustCompile(`\$\{?(\w+)`)

// TestDashboardPanelsAreComplete holds each panel to what a reader needs, and
// the grid to what Grafana would otherwise move about.
func TestDashboardPanelsAreComplete(t *testing.T) {
	d, _ := readDashboard(t)
	known := map[string]bool{"__range": true, "__interval": true}
	for _, v := range d.Templating.List {
		known[v.Name] = true
	}
	ids, titles := map[int]bool{}, map[string]bool{}
	cells := map[[2]int]string{}
	for i := range d.Panels {
		p := &d.Panels[i]
		if p.ID <= 0 || ids[p.ID] {
			t.Errorf("%v: the id is missing or another panel's", p)
		}
		ids[p.ID] = true
		if p.Title == "" || titles[p.Type+p.Title] {
			t.Errorf("%v: the title is missing or another panel's", p)
		}
		titles[p.Type+p.Title] = true
		if p.Grid.W < 1 || p.Grid.H < 1 || p.Grid.X < 0 || p.Grid.Y < 0 || p.Grid.X+p.Grid.W > 24 {
			t.Errorf("%v: %+v does not fit a grid of 24 columns", p, p.Grid)
		}
		for x := p.Grid.X; x < p.Grid.X+p.Grid.W; x++ {
			for y := p.Grid.Y; y < p.Grid.Y+p.Grid.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" {
					t.Fatalf("%v lies over %s at column %d, line %d", p, other, x, y)
				}
				cells[[2]int{x, y}] = p.String()
			}
		}
		if p.Type == "row" {
			continue
		}
		if len(p.Description) < 20 || !strings.HasSuffix(p.Description, ".") {
			t.Errorf("%v: the description is %q; want a sentence", p, p.Description)
		}
		if p.FieldConfig.Defaults.Unit == "" {
			t.Errorf("%v has no unit", p)
		}
		if p.Datasource == nil || p.Datasource.UID != boardDatasource || len(p.Targets) == 0 {
			t.Errorf("%v: data source %+v and %d queries; want %s and one at least", p, p.Datasource, len(p.Targets), boardDatasource)
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if q.Datasource == nil || q.Datasource.UID != boardDatasource || q.RefID == "" || refs[q.RefID] || q.Instant == q.Range {
				t.Errorf("%v, query %q: data source %+v, instant %v, range %v", p, q.RefID, q.Datasource, q.Instant, q.Range)
			}
			refs[q.RefID] = true
			if (q.Format == "table") != (p.Type == "table") || (p.Type == "timeseries") == q.Instant {
				t.Errorf("%v, query %s: format %s, instant %v do not fit a %s", p, q.RefID, q.Format, q.Instant, p.Type)
			}
			for _, m := range variableUse.FindAllStringSubmatch(q.Expr+q.Legend, -1) {
				if !known[m[1]] {
					t.Errorf("%v, query %s: there is no variable %s", p, q.RefID, m[1])
				}
			}
		}
	}
}
