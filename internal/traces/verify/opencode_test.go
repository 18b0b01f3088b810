package verify

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
)

// TestBothReadingsOfDatabases has what opencode's database may hold besides whole turns: what
// was added to a recorded session shows in the numbers.
func TestBothReadingsOfDatabases(t *testing.T) {
	const recording = "../../transcript/testdata/opencode/tools-resume/opencode.sql"
	session := func(t *testing.T) (home, id string, whole found) {
		home = t.TempDir()
		opencodetest.Write(t, home, recording)
		for _, r := range read(t, home) {
			id = r.id
		}
		return home, id, bothReadingsOf(t, home)
	}
	const (
		at      = "1895629000000"
		message = `INSERT INTO message(id,session_id,time_created,time_updated,data) VALUES`
		part    = `INSERT INTO part(id,message_id,session_id,time_created,time_updated,data) VALUES`
		asked   = message + `('msg_z1','SES',AT,AT,'{"role":"user","time":{"created":AT}}');` + part + `('prt_z1','msg_z1','SES',AT,AT,'{"type":"text","text":"more"}');`
	)
	answer := func(parts ...string) string {
		text := message + `('msg_z2','SES',AT,AT,'{"role":"assistant","parentID":"msg_z1","modelID":"m","finish":"stop","tokens":{"input":5,"output":10},"time":{"created":AT,"completed":AT}}');`
		for i, p := range parts {
			text += part + `('prt_y` + string(rune('0'+i)) + `','msg_z2','SES',AT,AT,'` + p + `');`
		}
		return asked + text
	}
	ended := func(finish string) string { return strings.Replace(answer(), `"stop"`, `"`+finish+`"`, 1) }
	const (
		cut   = `{"type":"tool","callID":"call_0","tool":"bash","state":{"status":"running","input":{"command":"x"},"time":{"start":AT}}}`
		again = message + `('msg_z5','SES',AT+60009,AT,'{"role":"user","time":{"created":1895629060009}}');` +
			message + `('msg_z6','SES',AT+60010,AT,'{"role":"assistant","parentID":"msg_z5","modelID":"m","time":{"created":1895629060010}}');` +
			part + `('prt_z6','msg_z6','SES',AT+60011,AT,json_set('` + cut + `','$.state.time.start',AT+60011));`
		subagent = `INSERT INTO session(id,parent_id,project_id,slug,directory,title,version,time_created,time_updated) VALUES('ses_sub','SES','global','s','/','t','1',AT,AT);` +
			message + `('msg_z7','ses_sub',AT,AT,'{"role":"user","time":{"created":AT}}');`
		refused = asked + message + `('msg_z2','SES',AT,AT,'{"role":"assistant","parentID":"msg_z1","modelID":"m","tokens":{"input":0},"time":{"created":AT}}');` +
			message + `('msg_z5','SES',AT+60009,AT,'{"role":"user","time":{"created":1895629060009}}');` +
			message + `('msg_z6','SES',AT+60010,AT,'{"role":"assistant","parentID":"msg_z5","modelID":"m","time":{"created":1895629060010,"completed":1895629060011},"error":{"name":"APIError","data":{"message":"no"}}}');`
	)
	for name, c := range map[string]struct {
		statements string
		prompts    int
		calls      int
		output     int64
		unread     int
	}{
		"a turn":                          {answer(), 1, 0, 10, 0},
		"an answer that was filtered":     {ended("content-filter"), 1, 0, 10, 0},
		"an answer with a reason to come": {ended("next-year"), 1, 0, 10, 0},
		"an answer before another":        {ended("unknown"), 1, 0, 10, 0},
		"a call that was cut off":         {answer(`{"type":"tool","callID":"call_z1","tool":"bash","state":{"status":"running","input":{"command":"x"},"time":{"start":AT}}}`), 1, 1, 10, 0},
		"a call without a result":         {answer(`{"type":"tool","callID":"call_z1","tool":"bash","state":{"status":"pending","input":{}}}`), 1, 1, 10, 0},
		"a call that failed":              {answer(`{"type":"tool","callID":"call_z1","tool":"bash","state":{"status":"error","input":{},"error":"no","time":{"start":AT,"end":AT}}}`), 1, 1, 10, 0},
		"calls with one id cut off":       {answer(cut) + again + subagent, 1, 2, 10, 0},
		"a refusal after a cut":           {refused, 1, 0, 0, 0},
		"in one answer, too":              {answer(cut, strings.Replace(cut, `"x"`, `"y"`, 1)), 1, 2, 10, 0},
		"a message that is no JSON":       {answer() + message + `('msg_z3','SES',AT,AT,'{"ro');`, 1, 0, 10, 1},
		"a part that is no JSON":          {answer(`{"ty`), 1, 0, 10, 1},
		"a part of another session":       {answer() + part + `('prt_x','msg_z2','ses_other',AT,AT,'{"type":"text","text":"x"}');`, 1, 0, 10, 0},
		"a message of no session":         {answer() + message + `('msg_z4','ses_gone',AT,AT,'{"role":"user","time":{"created":AT}}');`, 1, 0, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			home, id, whole := session(t)
			opencodetest.Exec(t, home+"/.local/share/opencode/opencode.db", strings.NewReplacer("SES", id, "AT", at).Replace(c.statements))
			got := bothReadingsOf(t, home)
			if got.prompts-whole.prompts != c.prompts || got.calls-whole.calls != c.calls || got.output-whole.output != c.output || len(got.unread) != c.unread {
				t.Errorf("found %+v, before %+v; want %d prompts, %d calls, %d tokens more, %d rows named", got, whole, c.prompts, c.calls, c.output, c.unread)
			}
		})
	}
}

// TestFailuresThatNoAnswerShows has a turn that failed, without an answer in the files. If the service
// refused the request, Kilo removes the answer when the user goes on, and opencode keeps it. If the
// model does not exist, neither agent makes a request.
func TestFailuresThatNoAnswerShows(t *testing.T) {
	for _, c := range []struct {
		word            string
		requested, want bool
	}{{"opencode", true, true}, {"kilo", true, false}, {"opencode", false, false}, {"kilo", false, false}} {
		t.Run(fmt.Sprintf("%s, requested %t", c.word, c.requested), func(t *testing.T) {
			home, w := t.TempDir(), work()
			refused := w[1].steps[0]
			refused.calls, refused.uncounted = nil, true
			w[1].steps = []workStep{refused}
			opencodeWork(c.word)(t, home, w)
			change := func(statement string) {
				opencodetest.Exec(t, filepath.Join(home, ".local", "share", c.word, c.word+".db"), statement+" WHERE id = 'msg_"+refused.id+"';")
			}
			change(`UPDATE message SET data = json_set(data, '$.error', json('{"name":"APIError","data":{"message":"no"}}'))`)
			r := &read(t, home)[0]
			if got := r.differences(t, r.spans); len(got) > 0 {
				t.Fatalf("before it is removed: %v", got)
			}
			change("DELETE FROM message")
			if failed := r.spans[1].ScopeSpans[0]; !c.requested {
				failed.Spans = failed.Spans[:1] // the root
			}
			got := r.differences(t, r.spans)
			if found := slices.ContainsFunc(got, func(d Difference) bool { return d.Kind == Outcome }); found != c.want || len(got) > 0 != c.want {
				t.Errorf("found %v, want differences: %t", got, c.want)
			}
		})
	}
}
