package prices

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

//go:embed *.json
var files embed.FS

// vendors are those with a list, by its name, and the prefixes with which programs that
// know several providers write the models' names.
var vendors = map[string][]string{
	"anthropic.json": nil, // names.go knows its spellings
	"google.json":    {"google/", "models/"},
	"openai.json":    {"openai/"},
}

// list is a vendor's prices at a date.
type list struct {
	Date   month  `json:"date"`
	Source string `json:"source"`
	Unit   string `json:"unit"`
	// Search is what a thousand web searches cost, in USD.
	Search float64  `json:"search"`
	Prices []*price `json:"prices"`
}

// month is as in "2026-11", day as in "2026-10-07".
type (
	month struct{ begin time.Time }
	day   struct{ begin time.Time }
)

// UnmarshalText reads a month.
func (m *month) UnmarshalText(text []byte) (err error) {
	m.begin, err = time.Parse("2006-01", string(text))
	return err
}

// UnmarshalText reads a day.
func (d *day) UnmarshalText(text []byte) (err error) {
	d.begin, err = time.Parse(time.DateOnly, string(text))
	return err
}

func parseList(name string) (*list, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the price list: %w", err)
	}
	l := new(list)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(l); err != nil {
		return nil, fmt.Errorf("read the price list %q: %w", name, err)
	}
	for _, p := range l.Prices {
		p.fill()
		p.search = l.Search
		if p.Long != nil {
			p.Long.fill()
		}
	}
	return l, nil
}

// index has the prices of all lists: by name, and those of Anthropic's families.
type index struct {
	named    map[string]*Model
	families []*price
	date     time.Time
}

func newIndex() (*index, error) {
	x := &index{named: make(map[string]*Model)}
	for name, prefixes := range vendors {
		l, err := parseList(name)
		if err != nil {
			return nil, err
		}
		for _, p := range l.Prices {
			if p.Family != "" {
				x.families, x.date = append(x.families, p), l.Date.begin
			}
			for _, model := range p.Models {
				for _, prefix := range append([]string{""}, prefixes...) {
					m := x.named[prefix+model]
					if m == nil {
						m = &Model{date: l.Date.begin}
						x.named[prefix+model] = m
					}
					m.rows = append(m.rows, p)
				}
			}
		}
	}
	return x, nil
}

// known are the lists. They are part of the program, and a test reads them.
var known = sync.OnceValue(func() *index {
	x, err := newIndex()
	if err != nil {
		panic(err)
	}
	return x
})

// Of returns what a model costs, nil if no list has it.
func Of(name string) *Model {
	x := known()
	if m := x.named[name]; m != nil {
		return m
	}
	if m := x.named[withoutDate(name)]; m != nil {
		return m
	}
	family, v, ok := parseClaude(name)
	if !ok {
		return nil
	}
	m := &Model{date: x.date}
	for _, p := range x.families {
		if p.Family == family && p.First <= v && v <= p.Last {
			m.rows = append(m.rows, p)
		}
	}
	if len(m.rows) == 0 {
		return nil
	}
	return m
}
