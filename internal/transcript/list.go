package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// ErrForm is wrapped by errors about files that are whole and not in a form that is known.
var ErrForm = errors.New("unknown form")

// StreamList visits the elements of a list in order, one in memory at a time;
// visit must not keep their bytes. An element that is not an object has no
// members. If member is not nil, the list may also be the member "messages" of
// an object, whose other members are given to member; for the list it has no value.
func StreamList(ctx context.Context, r io.Reader, member func(name string, value []byte), visit func(rawjson.Object)) error {
	dec := json.NewDecoder(r)
	open, err := dec.Token()
	switch {
	case err != nil:
	case open == json.Delim('{') && member != nil:
		err = members(ctx, dec, member, visit)
	default:
		err = elements(ctx, dec, open, visit)
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// members reads the members of an object whose brace has been read.
func members(ctx context.Context, dec *json.Decoder, member func(name string, value []byte), visit func(rawjson.Object)) error {
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		if name == "messages" {
			member("messages", nil)
			open, err := dec.Token()
			if err == nil {
				err = elements(ctx, dec, open, visit)
			}
			if err != nil {
				return err
			}
			continue
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		member(fmt.Sprint(name), raw)
	}
	_, err := dec.Token()
	return err
}

// elements reads the elements of a list that begins with open.
func elements(ctx context.Context, dec *json.Decoder, open json.Token, visit func(rawjson.Object)) error {
	if open != json.Delim('[') {
		return fmt.Errorf("%w: found %v, want a list", ErrForm, open)
	}
	var raw json.RawMessage
	for dec.More() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		visit(rawjson.Members(raw))
	}
	_, err := dec.Token()
	return err
}
