package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
)

// convertJSON fills the tables of schema version 3 from those of version 2,
// which held OTLP/JSON, and drops these.
func convertJSON(ctx context.Context, tx *sql.Tx) error {
	err := convertRows(ctx, tx, `SELECT id, body FROM origins_json`,
		`INSERT INTO origins (id, message) VALUES (?1, ?2)`, parseOrigin)
	if err != nil {
		return err
	}
	err = convertRows(ctx, tx, `SELECT rowid, body FROM spans_json ORDER BY rowid`, `
		INSERT INTO spans (trace, span_id, parent_id, origin, started, ended, role, failed, model,
			input, output, cache_read, cache_write, cost, message)
		SELECT trace, span_id, parent_id, origin, started, ended, role, failed, model,
			input, output, cache_read, cache_write, cost, ?2
		FROM spans_json WHERE rowid = ?1`, parseSpan)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		DROP TABLE spans_json;
		DROP TABLE origins_json;`)
	return err
}

// convertRows converts the body of each row of a query and inserts it.
func convertRows(ctx context.Context, tx *sql.Tx, query, insert string, parse func(body []byte) (proto.Message, error)) (err error) {
	stmt, err := tx.PrepareContext(ctx, insert)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	return eachRow(ctx, tx, func(scan func(...any) error) error {
		var id int64
		var body sql.RawBytes
		if err := scan(&id, &body); err != nil {
			return err
		}
		m, err := parse(body)
		if err != nil {
			return fmt.Errorf("%w %d: %w", errUndecodable, id, err)
		}
		message, err := encode(m)
		if err == nil {
			_, err = stmt.ExecContext(ctx, id, message)
		}
		return err
	}, query)
}

// parseOrigin converts the members resource, schemaUrl, scope and scopeSchemaUrl
// into a ResourceSpans message without spans.
func parseOrigin(body []byte) (proto.Message, error) {
	var old struct {
		Resource, Scope           json.RawMessage
		SchemaURL, ScopeSchemaURL string
	}
	if err := json.Unmarshal(body, &old); err != nil {
		return nil, err
	}
	type object map[string]any
	doc, err := json.Marshal(object{
		"resource": old.Resource, "schemaUrl": old.SchemaURL,
		"scopeSpans": []object{{"scope": old.Scope, "schemaUrl": old.ScopeSchemaURL}},
	})
	if err != nil {
		return nil, err
	}
	return parseMessage("", doc, "")
}

func parseSpan(body []byte) (proto.Message, error) {
	rs, err := parseMessage(`{"scopeSpans":[{"spans":[`, body, `]}]}`)
	if err != nil {
		return nil, err
	}
	return rs.GetScopeSpans()[0].GetSpans()[0], nil
}

// parseMessage parses a ResourceSpans object in three parts.
func parseMessage(head string, body []byte, tail string) (*tracepb.ResourceSpans, error) {
	messages, err := otlpjson.Decode(slices.Concat([]byte(`{"resourceSpans":[`+head), body, []byte(tail+`]}`)))
	if err != nil {
		return nil, err
	}
	return messages[0], nil
}
