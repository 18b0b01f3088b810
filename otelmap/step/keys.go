package step

import (
	"slices"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// Part is what a reader asks of steps and their events: the methods that its comment names.
type Part uint8

// The parts.
const (
	PartKind Part = iota // Kind, Host
	PartEnd              // End, Outcome
	PartTool             // Tool
	PartCallID
	PartServer
	PartFolder
	PartRan
	PartDenier // DeniedBy
	PartArguments
	PartResult  // Result and, with PartFailure, Returned
	PartFailure // Failure, Exception
	PartUsage   // Usage, Input, Output, CacheRead, CacheWrite, CacheHour, Cost, of events too
	PartModel
	PartAgent  // Agent
	PartAsked  // Asked, Said
	PartTexts  // Given, Said, Task, Answer
	PartEvents // Text
	PartHookEnds
	// PartHooks are the command and the reason of hooks, Hook has all with PartHookEnds.
	PartHooks
	PartWaits  // Waits of what has ended, with PartEnd and PartRan
	PartBranch // Branch, BranchUnknown, Repository, Source
)

// keysOf are the attributes that the methods of a part read.
var keysOf = [...][]string{
	PartKind:      {otelmap.KeyOperation, otelmap.KeyHost},
	PartEnd:       {otelmap.KeyOutcome, otelmap.KeyErrorType, otelmap.KeyToolOutcome},
	PartTool:      {otelmap.KeyOperation, otelmap.KeyToolName},
	PartCallID:    {otelmap.KeyToolCallID},
	PartServer:    {otelmap.KeyMCPServer},
	PartFolder:    {otelmap.KeyFolder},
	PartRan:       {otelmap.KeyHostDuration},
	PartDenier:    {otelmap.KeyHookDeniedBy},
	PartArguments: {otelmap.KeyToolArguments},
	PartResult:    {otelmap.KeyToolResult},
	PartFailure:   {otelmap.KeyErrorType, otelmap.KeyExceptionType, otelmap.KeyExceptionMessage},
	PartUsage: {
		otelmap.KeyInputTokens, otelmap.KeyOutputTokens, otelmap.KeyCacheReadTokens, otelmap.KeyCacheWriteTokens, otelmap.KeyCost, otelmap.KeyCacheWriteHourTokens,
		otelmap.KeyRunInputTokens, otelmap.KeyRunOutputTokens, otelmap.KeyRunCacheReadTokens, otelmap.KeyRunCacheWriteTokens,
	},
	PartModel:    {otelmap.KeyRequestModel, otelmap.KeyModel, otelmap.KeyResponseModel},
	PartAgent:    {otelmap.KeyOperation, otelmap.KeyAgentName},
	PartAsked:    {otelmap.KeyOutputMessages},
	PartTexts:    {otelmap.KeyInputValue, otelmap.KeyInputMessages, otelmap.KeyOutputValue, otelmap.KeyOutputMessages},
	PartEvents:   {otelmap.KeyText},
	PartHookEnds: {otelmap.KeyHookStatus, otelmap.KeyHookDecision, otelmap.KeyHookDuration},
	PartHooks:    {otelmap.KeyHookCommand, otelmap.KeyHookReason},
	PartWaits:    {otelmap.KeyWaited, otelmap.KeyAwaitsUser},
	PartBranch:   {otelmap.KeyBranch, otelmap.KeyBranchUnknown, otelmap.KeyRepositoryName, otelmap.KeyRepositoryURL, otelmap.KeySessionSource},
}

// Keys returns the attributes that a reader of these parts needs of spans and of their events.
func Keys(parts ...Part) (keys []string) {
	for _, p := range parts {
		keys = append(keys, keysOf[p]...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// NewSkimmer returns a skimmer that keeps what a reader of these parts needs.
func NewSkimmer(parts ...Part) *otlp.Skimmer { return otlp.NewSkimmer(Keys(parts...)) }
