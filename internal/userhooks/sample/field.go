package sample

import (
	"fmt"
	"slices"
)

// Field is a member of a Request, by its flag.
type Field string

// The members.
const (
	FieldEvent   Field = "event"
	FieldTool    Field = "tool"
	FieldInput   Field = "json"
	FieldResult  Field = "result"
	FieldPrompt  Field = "prompt"
	FieldDialect Field = "dialect"
)

// FieldError is about members of a Request, which it names by their flags.
type FieldError struct {
	format string
	args   []any
}

func wrong(format string, args ...any) error { return &FieldError{format, args} }

func (e *FieldError) Error() string { return e.With(func(f Field) string { return "--" + string(f) }) }

// With is the text of the error with other names of the members.
func (e *FieldError) With(name func(Field) string) string {
	args := slices.Clone(e.args)
	for i, a := range args {
		if f, ok := a.(Field); ok {
			args[i] = name(f)
		}
	}
	return fmt.Sprintf(e.format, args...)
}
