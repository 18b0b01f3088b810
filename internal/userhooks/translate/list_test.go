package translate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A word without special characters is not quoted.
func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"": "''", "ls": "ls", "-la": "-la", "a/b_c.d:e@f%g+h=i,j": "a/b_c.d:e@f%g+h=i,j",
		"a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~": "'~'", "*": "'*'", "a\nb": "'a\nb'", "\u00e9": "'\u00e9'",
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestReadPathSpellings(t *testing.T) {
	tests := []struct {
		name string
		in   any
		want []map[string]any
	}{
		{"nothing", nil, nil},
		{"number", 3, nil},
		{"empty text", "", nil},
		{"other members stay", map[string]any{"files": []any{map[string]any{"file_path": "a", "x": "y"}}}, []map[string]any{{"path": "a", "x": "y"}}},
		{"lines before any file", []any{map[string]any{"start_line": 1}, "a"}, []map[string]any{{"path": "a"}}},
		{"lines beside a list", map[string]any{"path": `["a","b"]`, "start_line": 2}, []map[string]any{{"path": "a", "start_line": 2}, {"path": "b", "start_line": 2}}},
		{"list of lists", []any{[]any{"a"}, []any{[]any{"b"}}}, []map[string]any{{"path": "a"}, {"path": "b"}}},
		{"lists without end", []any{[]any{[]any{[]any{[]any{"a"}}}}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, readEntries(tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommandSpellings(t *testing.T) {
	tests := []struct {
		name string
		in   any
		want []any
	}{
		{"nothing", nil, nil},
		{"no command", map[string]any{"commands": []any{nil, "", []any{}, map[string]any{}}}, nil},
		{"list in an object in the list's place", map[string]any{"commands": map[string]any{"commands": []any{"a"}}}, []any{"a"}},
		{"number", map[string]any{"commands": 3}, []any{"3"}},
		{"beside the list", map[string]any{"commands": []any{"a"}, "script": "b"}, []any{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, commandEntries(tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
