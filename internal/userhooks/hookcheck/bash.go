package hookcheck

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// bashOnly returns the first construct in a line that a POSIX shell does not have,
// empty if there is none. It does not know all of them.
func bashOnly(f *syntax.File) (what string) {
	contains(f, func(n syntax.Node) bool {
		what = bashNode(n)
		return what != ""
	})
	return what
}

// contains reports whether a node of the tree has a property.
func contains(tree syntax.Node, has func(syntax.Node) bool) bool {
	found := false
	syntax.Walk(tree, func(n syntax.Node) bool {
		found = found || n != nil && has(n)
		return !found
	})
	return found
}

func bashNode(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.TestClause:
		return "[[ ]]"
	case *syntax.ProcSubst:
		return "<( )"
	case *syntax.ArrayExpr:
		return "an array"
	case *syntax.ArithmCmd:
		return "(( ))"
	case *syntax.CStyleLoop:
		return "for (( ))"
	case *syntax.DeclClause:
		if n.Variant.Value == "declare" || n.Variant.Value == "typeset" {
			return n.Variant.Value
		}
	case *syntax.FuncDecl:
		if n.RsrvWord {
			return "function"
		}
	case *syntax.Redirect:
		switch n.Op {
		case syntax.RdrAll, syntax.AppAll:
			return n.Op.String()
		case syntax.WordHdoc:
			return "<<<"
		}
	case *syntax.BinaryCmd:
		if n.Op == syntax.PipeAll {
			return "|&"
		}
	case *syntax.SglQuoted:
		if n.Dollar {
			return "$'...'"
		}
	case *syntax.ParamExp:
		if n.Repl != nil || n.Slice != nil || n.Index != nil || n.Excl {
			return "${name/...}, ${name:...} or ${name[...]}"
		}
	case *syntax.CallExpr:
		return bashCall(n)
	}
	return ""
}

// bashCall returns a built-in command, or a use of one, that only Bash has.
func bashCall(n *syntax.CallExpr) string {
	if len(n.Args) == 0 {
		return ""
	}
	has := func(text string) bool {
		return slices.ContainsFunc(n.Args[1:], func(w *syntax.Word) bool { return w.Lit() == text })
	}
	switch name := n.Args[0].Lit(); {
	case name == "source" || name == "shopt" || name == "pushd" || name == "popd":
		return name
	case name == "set" && has("pipefail"):
		return "set -o pipefail"
	case (name == "[" || name == "test") && has("=="):
		return "== in [ ]"
	}
	return ""
}
