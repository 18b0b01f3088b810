package cline

import (
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// timeOf reads a time in milliseconds.
func timeOf(raw []byte) time.Time {
	ms, _ := rawjson.Float(raw)
	return transcript.Millis(ms).Time()
}

// model names a model as Cline spells it.
type model struct{ provider, id string }

// modelOf reads a model, given the names of the two members.
func modelOf(raw []byte, provider, id string) model {
	o := rawjson.Members(raw)
	return model{rawjson.Unquote(o.Get(provider)), rawjson.Unquote(o.Get(id))}
}
