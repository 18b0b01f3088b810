package hook

import (
	"sort"
	"time"
)

// CallKey is by what the events of one call are known: its id, its tool and a hash of its
// input. An agent that gives its calls no ids leaves ID empty.
type CallKey struct {
	ID, Name string
	Input    uint64
}

// Keys are the keys under which a call is looked for, the narrowest first: the whole key, the
// id and the tool, the id. Without an id only the whole key counts.
func (k CallKey) Keys() []CallKey {
	if k.ID == "" {
		return []CallKey{k}
	}
	return []CallKey{k, {ID: k.ID, Name: k.Name}, {ID: k.ID}}
}

// OpenCalls are the calls of one agent that have begun and not ended. They find the call that
// an end belongs to, wherever events are read; the zero value is ready to use.
//
// The agent's id decides, but some models number their calls anew in each reply: the id of a
// call that was denied, which has no end, comes again. So an end belongs to the newest start
// with its id, tool and input, else, as a hook may have changed the input, to the newest with
// its id and tool. Without an id it belongs to the oldest start with its tool and input: an
// agent may announce all calls of a reply before it makes the first.
//
// Calls that have ended take no memory, but for those between two that have not.
type OpenCalls[C any] struct{ by map[CallKey][]*openCall[C] }

type openCall[C any] struct {
	key   CallKey
	call  C
	ended bool
}

// Any reports whether a call has not ended.
func (o *OpenCalls[C]) Any() bool { return len(o.by) > 0 }

// Start adds a call that has begun.
func (o *OpenCalls[C]) Start(k CallKey, call C) {
	if o.by == nil {
		o.by = make(map[CallKey][]*openCall[C])
	}
	c := &openCall[C]{key: k, call: call}
	for _, key := range k.Keys() {
		o.by[key] = append(o.by[key], c)
	}
}

// End takes out the call that an end belongs to. ok is false if there is none.
func (o *OpenCalls[C]) End(k CallKey) (call C, ok bool) {
	keys := k.Keys()
	for _, key := range keys[:min(len(keys), 2)] {
		list := o.open(key)
		if len(list) == 0 {
			continue
		}
		c := list[len(list)-1]
		if k.ID == "" {
			c = list[0]
		}
		c.ended = true
		for _, key := range c.key.Keys() {
			o.open(key)
		}
		return c.call, true
	}
	return call, false
}

// Newest returns the newest call with an id. ok is false if there is none.
func (o *OpenCalls[C]) Newest(id string) (call C, ok bool) {
	list := o.open(CallKey{ID: id})
	if len(list) == 0 {
		return call, false
	}
	return list[len(list)-1].call, true
}

// open drops calls that have ended from both ends of a list.
func (o *OpenCalls[C]) open(k CallKey) []*openCall[C] {
	list := o.by[k]
	for len(list) > 0 && list[0].ended {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].ended {
		list = list[:len(list)-1]
	}
	if len(list) == 0 {
		delete(o.by, k)
		return nil
	}
	o.by[k] = list
	return list
}

// Newest returns the last element of list that was made at a time or before it. The list is
// sorted by made. It selects among calls that have the same id, since some models number their
// calls anew in each reply. ok is false if all were made later.
func Newest[T any](list []T, at time.Time, made func(T) time.Time) (newest T, ok bool) {
	n := sort.Search(len(list), func(i int) bool { return made(list[i]).After(at) })
	if n == 0 {
		return newest, false
	}
	return list[n-1], true
}
