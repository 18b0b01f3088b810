package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// Endings of the names of rollout files. Codex compresses those that have been idle for a
// week; the first versions wrote one object.
const (
	packed = suffix + ".zst"
	single = ".json"
)

// plain reports that a file has a row on each line.
func plain(path string) bool { return strings.HasSuffix(path, suffix) }

// Limits of compressed files. Rows are some ten times as long as what they are compressed to.
const (
	// maxWindow bounds the memory that a frame may ask for, in bytes.
	maxWindow = 32 << 20
	// maxUnpacked bounds the rows of a file, in bytes, and maxRatio how many times as long as
	// the file they may be, after the first minRatio bytes.
	maxUnpacked = 1 << 30
	maxRatio    = 200
	minRatio    = 16 << 20
)

// eachRow gives the rows of a file of any form to visit until it returns false. It reads no
// more than limit bytes of a file with lines, if limit is not zero.
func eachRow(ctx context.Context, f *transcript.Files, path string, lines *transcript.Lines, limit int64, visit func(line []byte) bool) error {
	if strings.HasSuffix(path, single) {
		whole, err := transcript.Small[struct {
			Session json.RawMessage
			Items   []json.RawMessage
		}](ctx, f, path, false)
		if err != nil {
			return err
		}
		for i, line := range append([]json.RawMessage{whole.Session}, whole.Items...) {
			lines.Row = i + 1
			if !visit(line) {
				return nil
			}
		}
		return nil
	}
	file, err := f.Open(ctx, path, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only
	size := file.Size()
	var in io.Reader = file
	if !plain(path) {
		dec, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return transcript.ReadError(path, err)
		}
		defer dec.Close()
		size = min(maxUnpacked, minRatio+maxRatio*size)
		in = &unpacked{dec, size}
	}
	if limit > 0 && limit < size {
		in, size = io.LimitReader(in, limit), limit
	}
	read := lines.Each
	if lines.Done != nil { // the rows of the session
		read = func(ctx context.Context, rows transcript.Sized, visit func(line []byte) bool) error {
			return lines.All(ctx, f, path, rows, false, visit)
		}
	}
	if err := read(ctx, sized{in, size}, visit); err != nil {
		return transcript.ReadError(path, err)
	}
	return nil
}

// sized is a reader that gives at most size bytes.
type sized struct {
	io.Reader
	size int64
}

func (s sized) Size() int64 { return s.size }

// unpacked reads a compressed file, and fails after left bytes.
type unpacked struct {
	r    io.Reader
	left int64
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, fmt.Errorf("%w: the file unpacks to more than %d times its size, or than %d bytes", transcript.ErrBeyond, maxRatio, maxUnpacked)
	}
	return n, err
}

// Kinds that say nothing of the work, or what other rows say.
const (
	idleRows  = " world_state state inter_agent_communication inter_agent_communication_metadata "
	idleItems = " reasoning additional_tools compaction compaction_summary context_compaction ghost_snapshot other "
	idleEvent = " agent_message agent_reasoning agent_reasoning_raw_content context_compacted entered_review_mode exited_review_mode" +
		" thread_rolled_back thread_name_updated thread_goal_updated undo_completed error stream_error warning guardian_warning guardian_assessment" +
		" image_generation_end view_image_tool_call web_search_begin model_reroute collab_agent_interaction_end collab_waiting_end collab_close_end" +
		" collab_resume_end dynamic_tool_call_request dynamic_tool_call_response plan_update turn_diff shutdown_complete deprecation_notice "
	idleDone = " AgentMessage Reasoning Plan ContextCompaction EnteredReviewMode ExitedReviewMode ImageGeneration Sleep "
)

// meet counts a row, an item or an event of a kind that is not among the idle ones.
func (l *log) meet(idle, kind, what string, p rawjson.Object, at time.Time) {
	if !strings.Contains(idle, " "+what+" ") {
		l.Meet(kind+what, at, p)
	}
}
