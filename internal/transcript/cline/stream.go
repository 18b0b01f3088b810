package cline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errShape reports JSON that is whole but not what Cline writes.
var errShape = errors.New("unexpected JSON")

// decodeArray visits each element of the array the decoder stands before.
func decodeArray(ctx context.Context, dec *json.Decoder, visit func() error) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	return decodeElements(ctx, dec, visit)
}

// decodeElements visits the elements of an array whose bracket has been read.
func decodeElements(ctx context.Context, dec *json.Decoder, visit func() error) error {
	for dec.More() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(); err != nil {
			return err
		}
	}
	return expect(dec, ']')
}

func expect(dec *json.Decoder, want json.Delim) error {
	tok, err := dec.Token()
	if err != nil {
		return atEOF(err)
	}
	if tok != want {
		return fmt.Errorf("%w: found %v, want %q", errShape, tok, want.String())
	}
	return nil
}

// atEOF names an end inside a value for what it is.
func atEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
