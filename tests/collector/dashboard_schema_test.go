package collector_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// grafanaTypes is the head of the file that the dashboard is written into as a value of
// Grafana's own types. The compiler then says what is missing, misspelt or of
// another type. Their enums become the words and numbers of JSON.
const grafanaTypes = `import type { Dashboard, Panel, RowPanel, VariableModel } from '@grafana/schema';
import type { Options as stat } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type { Options as table, FieldConfig as tableField } from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type { Options as timeseries, FieldConfig as timeseriesField } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

type Plain<T> =
  T extends string ? ` + "`${T}`" + ` :
  T extends number | boolean | null | undefined ? T :
  T extends (infer U)[] ? Plain<U>[] :
  T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type statField = Record<string, never>;
type Kind<K extends string, Options, Field> = Omit<Plain<Panel>, 'type' | 'options' | 'fieldConfig'> & {
  type: K;
  options: Plain<Options>;
  fieldConfig: Omit<Plain<Panel>['fieldConfig'] & {}, 'defaults'> & {
    defaults: Omit<(Plain<Panel>['fieldConfig'] & {})['defaults'], 'custom'> & { custom?: Plain<Field> };
  };
};
type row = Plain<RowPanel>;
// Grafana writes the definition, and has no type for it.
type variable = Plain<VariableModel> & { definition?: string };
`

// boardFaults are what the compiler has to see: else it would look at less than is
// thought.
var boardFaults = [][2]string{
	{`"schemaVersion": 42`, `"schemaVersion": "42"`},
	{`"graphTooltip": 1`, `"graphTooltip": 7`},
	{`"drawStyle": "bars"`, `"drawStyle": "barz"`},
	{`"displayMode": "list"`, `"display_mode": "list"`},
	{`"graphMode": "none"`, `"graphMode": "non"`},
	{`"cellHeight": "sm"`, `"cellHeight": "small"`},
	{`"gridPos": {`, `"gridPosition": {`},
	{`"refresh": 2`, `"refresh": "2"`},
	{`"unit": "s"`, `"unit": 1`},
}

// TestDashboardIsOfGrafanasTypes compiles the dashboard as TypeScript, and beside
// it one for each of the faults.
func TestDashboardIsOfGrafanasTypes(t *testing.T) {
	_, raw := readDashboard(t)
	all := map[string][]byte{"dashboard.ts": raw}
	for i, fault := range boardFaults {
		broken := strings.Replace(string(raw), fault[0], fault[1], 1)
		if broken == string(raw) {
			t.Fatalf("the dashboard has no %s to be broken", fault[0])
		}
		all[fmt.Sprintf("fault%d.ts", i)] = []byte(broken)
	}
	complaints := compileBoards(t, all)
	for line := range strings.Lines(complaints) {
		if !strings.Contains(line, "fault") && !strings.HasPrefix(line, " ") {
			t.Error(line)
		}
	}
	for i, fault := range boardFaults {
		if !strings.Contains(complaints, fmt.Sprintf("fault%d.ts(", i)) {
			t.Errorf("the compiler does not see %s in place of %s", fault[1], fault[0])
		}
	}
}

// compileBoards writes dashboards as programs and returns what the compiler says.
func compileBoards(t *testing.T, dashboards map[string][]byte) string {
	t.Helper()
	compiler, modules := boardCompiler(t)
	// Modules are looked for from the file upwards.
	dir, err := os.MkdirTemp(modules, "check-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	args := []string{compiler, "--noEmit", "--strict", "--skipLibCheck", "--pretty", "false", "--module", "nodenext", "--moduleResolution", "nodenext"}
	for name, raw := range dashboards {
		program, err := boardProgram(raw)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	out, err := exec.CommandContext(t.Context(), "node", args...).CombinedOutput() //nolint:gosec // Installed from a lock file.
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

func boardCompiler(t *testing.T) (compiler, modules string) {
	t.Helper()
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := rig.Program{Name: "grafana-schema", Manifest: os.DirFS(grafanaFile(t, "schema"))}.Install(t.Context(), cache)
	if errors.Is(err, rig.ErrNoProgram) {
		skip.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "node_modules", "typescript", "lib", "tsc.js"), dir
}

// boardProgram gives each panel the type of its kind, and the rest Dashboard's.
func boardProgram(raw []byte) (string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return "", err
	}
	var panels []json.RawMessage
	var templating struct {
		List []json.RawMessage `json:"list"`
	}
	if err := errors.Join(json.Unmarshal(all["panels"], &panels), json.Unmarshal(all["templating"], &templating)); err != nil {
		return "", err
	}
	// Only of a file to be imported, and in none of the types.
	for _, name := range []string{"__inputs", "__requires", "panels", "templating"} {
		delete(all, name)
	}
	rest, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(grafanaTypes)
	fmt.Fprintf(&b, "const dashboard: Plain<Dashboard> = %s;\n", rest)
	for i, v := range templating.List {
		fmt.Fprintf(&b, "const variable%d: variable = %s;\n", i, v)
	}
	for i, p := range panels {
		var kind struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(p, &kind); err != nil {
			return "", err
		}
		name := fmt.Sprintf("Kind<'%s', %[1]s, %[1]sField>", kind.Type)
		if kind.Type == "row" {
			name = kind.Type
		}
		fmt.Fprintf(&b, "const panel%d: %s = %s;\n", i, name, p)
	}
	return b.String(), nil
}
