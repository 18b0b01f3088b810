package deps

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"testing"
)

// How often the product has what makes a function hard to read. The numbers may only fall:
// who lowers one writes the new one here.
const (
	assigning = 289 // variables that the head of an if or a switch gives another value
	embedding = 139 // embedded fields of structs
	mostPaths = 25  // a function's cyclomatic complexity, but for those of branchy
)

// branchy are the functions that have more paths than mostPaths. None may come to it.
var branchy = map[string]int{
	"cmd/hookspan/show.go wrong":                        31,
	"config/check.go check":                             32,
	"internal/deliver/fill.go send":                     26,
	"internal/deliver/reading.go due":                   28,
	"internal/deliver/session.go once":                  28,
	"internal/install/settings/plan.go PlanUninstall":   26,
	"internal/install/settings/status.go Status":        27,
	"internal/install/settings/wanted.go judge":         27,
	"internal/provision/reconcile.go reconcile":         31,
	"internal/traces/live/live.go Run":                  32,
	"internal/traces/store/words.go eachWord":           28,
	"internal/traces/view/stats.go groups":              34,
	"internal/transcript/claude/prompts.go addUser":     26,
	"internal/transcript/claude/session.go read":        33,
	"internal/transcript/codex/age_counts.go add":       26,
	"internal/transcript/opencode/answer.go answer":     31,
	"internal/userhooks/hookcheck/check.go matcher":     28,
	"internal/userhooks/hookmatch/rule_shell.go unwrap": 48,
	"internal/userhooks/verdict/judge.go Judge":         26,
}

// TestCodeIsPlain counts over the product's sources, without tests.
func TestCodeIsPlain(t *testing.T) {
	assigned, embedded := 0, 0
	found := make(map[string]int)
	for _, f := range sources(t) {
		if forTests(f.folder) || ast.IsGenerated(f.syntax) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				assigned += assigns(n.Init)
			case *ast.SwitchStmt:
				assigned += assigns(n.Init)
			case *ast.TypeSwitchStmt:
				assigned += assigns(n.Init)
			case *ast.StructType:
				for _, field := range n.Fields.List {
					if field.Names == nil {
						embedded++
					}
				}
			case *ast.FuncDecl:
				if c := paths(n); c > mostPaths {
					found[path.Join(f.folder, f.name)+" "+n.Name.Name] = c
				}
			}
			return true
		})
	}
	check := func(what string, got, most int) {
		if got != most {
			t.Errorf("%d %s, want %d: write fewer, or write down that they are fewer", got, what, most)
		}
	}
	check("heads of an if or switch that give a variable another value", assigned, assigning)
	check("embedded fields", embedded, embedding)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if found[name] != branchy[name] {
			t.Errorf("%s: a cyclomatic complexity of %d, want at most %d: make a table, or a function of each property", name, found[name], max(branchy[name], mostPaths))
		}
	}
	for name := range branchy {
		if found[name] == 0 {
			t.Errorf("%s: is no longer complex: take it out of branchy", name)
		}
	}
}

// assigns is 1 for a statement's head that gives an earlier variable another value.
func assigns(head ast.Stmt) int {
	if a, ok := head.(*ast.AssignStmt); ok && a.Tok != token.DEFINE {
		return 1
	}
	return 0
}

// paths is the cyclomatic complexity of a function with what is written in it: 1, and 1 more
// for each if, loop, case, && and ||.
func paths(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			n += min(1, len(node.List))
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}
