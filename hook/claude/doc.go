// Package claude reads what Claude Code writes to its hooks.
//
// All hooks share one wire form: a flat JSON object in snake case whose
// hook_event_name names the event. Members were added over time. The same code reads
// payloads of old versions, which have neither tool_use_id nor prompt_id nor
// agent_id: missing members stay empty. Claude Code gets no answer, so there is no
// encoder.
//
// The package promises that no payload makes it panic or overflow the stack,
// that the same bytes always give the same event, that the two ends of one tool
// call have byte-equal inputs, and that [Peek] and [Decode] name the same
// session and the same kind. Every text of an event that comes from a payload
// is valid UTF-8. It touches no file, network, environment or clock.
//
// It does not promise to sort events, to pair the ends of a tool call or to drop
// repeated events; that needs more than one event. Claude Code sends no
// timestamp, no version and no token counts, so those are never set. Object
// keys match in their exact case, and of equal keys the last one counts, as in
// JavaScript.
//
// The members are those of Claude Code's hooks reference
// (https://code.claude.com/docs/en/hooks) and of payloads recorded from version
// 2.1.329.
package claude
