package sample

import (
	"time"

	"github.com/hookspan/hookspan/otelmap"
)

const (
	opus   = "claude-opus-4-7"
	sonnet = "claude-sonnet-4-6"
	shop   = "/home/ada/code/shop"
	atlas  = "/home/ada/code/atlas"
	infra  = "/home/ada/code/infra"
	s      = time.Second
)

// Tasks returns invented tasks of a few days. The first one has a failure, a denial,
// a subagent, a pause and changes of files.
func Tasks() []Task {
	return append([]Task{{
		Ago: 52 * time.Minute, Host: "claude-code", Model: opus, Project: shop, Session: "b7c1e2f4-5a6d-4c3b-9e8f-0a1b2c3d4e5f", Outcome: otelmap.OutcomeCompleted,
		Prompt: "Checkout fails for orders with a discount code. Find out why, fix it, and add a test.\n\nThe customer sees \"Total must not be negative\" although the code is 10 % only.",
		Answer: "The discount was applied once per line item and once more to the sum, so three items with 10 % off lost 40 %.\n\nI removed the second application in cart/total.ts and added a test with three items. All 48 tests pass.",
		Steps: []Step{
			{Say: "I will look at how the total is computed first.", Took: 4 * s, Context: 18_400},
			{Tool: "Grep", Args: map[string]any{"pattern": "applyDiscount", "path": "src"}, Took: 240 * time.Millisecond, Result: "src/cart/total.ts:31\nsrc/cart/line.ts:12\nsrc/cart/discount.ts:4"},
			{Tool: "Read", Args: map[string]any{"file_path": shop + "/src/cart/total.ts"}, Took: 90 * time.Millisecond, Result: "export function total(cart: Cart): Money {\n  const sum = cart.lines.map(lineTotal).reduce(add, zero);\n  return applyDiscount(sum, cart.code);\n}"},
			{Tool: "Read", Args: map[string]any{"file_path": shop + "/src/cart/line.ts"}, Took: 70 * time.Millisecond, Result: "export function lineTotal(line: Line): Money {\n  return applyDiscount(times(line.price, line.count), line.code);\n}"},
			{Say: "Both the line and the sum apply the discount. I want to see who else depends on the line's total before I change it.", Took: 9 * s, Context: 24_100},
			{Tool: "Agent", Args: map[string]any{"description": "Find users of lineTotal", "subagent_type": "Explore"}, Result: "Three callers: total.ts, the invoice and the cart's badge. None needs the discount.", Steps: []Step{{
				Agent: "Explore", Say: "Find every caller of lineTotal and report whether it relies on the discount.", Result: "Three callers: total.ts, the invoice and the cart's badge. None needs the discount.", Steps: []Step{
					{Say: "Searching for callers.", Took: 3 * s, Context: 9_300},
					{Tool: "Grep", Args: map[string]any{"pattern": "lineTotal\\(", "path": "src"}, Took: 310 * time.Millisecond, Result: "src/cart/total.ts:30\nsrc/invoice/rows.ts:18\nsrc/ui/Badge.tsx:9"},
					{Tool: "Read", Args: map[string]any{"file_path": shop + "/src/invoice/rows.ts"}, Took: 60 * time.Millisecond, Result: "rows.push({ label: line.name, amount: lineTotal(line) })"},
					{Say: "The invoice shows the amount before the discount, so it is wrong today as well.", Took: 6 * s, Context: 11_900},
				},
			}}},
			{Tool: "Bash", Args: map[string]any{"command": "rm -rf dist && npm run build", "description": "Build again"}, Took: 60 * time.Millisecond, Hook: "deleting folders needs a person", Error: "deleting folders needs a person", Kind: otelmap.ErrorToolDenied},
			{Tool: "Bash", Args: map[string]any{"command": "npm test -- cart", "description": "Run the cart's tests"}, Took: 11 * s, Error: "exit code 1\n\n FAIL  src/cart/total.test.ts\n  ✕ a code is applied once (14 ms)\n\n  expect(received).toEqual(expected)\n  Expected: 2700\n  Received: 1800\n\nTests: 1 failed, 46 passed, 47 total"},
			{Say: "The new test shows the bug: 1800 instead of 2700. Now the fix.", Took: 7 * s, Context: 31_800},
			{Tool: "Edit", Args: map[string]any{"file_path": shop + "/src/cart/line.ts", "old_string": "export function lineTotal(line: Line): Money {\n  return applyDiscount(times(line.price, line.count), line.code);\n}", "new_string": "// The cart applies the discount, once, to the sum.\nexport function lineTotal(line: Line): Money {\n  return times(line.price, line.count);\n}"}, Took: 110 * time.Millisecond, Asked: 38 * s, Result: "The file has been updated."},
			{Idle: 14 * time.Minute},
			{Event: otelmap.EventNotification, Say: "Claude is waiting for your input"},
			{Tool: "Write", Args: map[string]any{"file_path": shop + "/src/cart/total.test.ts", "content": "test(\"a code is applied once\", () => {\n  const cart = withLines(3, 1000, \"SPRING10\");\n  expect(total(cart)).toEqual(2700);\n});\n"}, Took: 80 * time.Millisecond, Result: "File created."},
			{Tool: "Bash", Args: map[string]any{"command": "npm test", "description": "Run all tests"}, Took: 26 * s, Result: "Tests: 48 passed, 48 total\nTime: 24.9 s"},
			{Say: "All 48 tests pass.", Took: 5 * s, Context: 38_200},
		},
	}, {
		Ago: 20 * time.Minute, Host: "claude-code", Model: opus, Project: shop, Session: "b7c1e2f4-5a6d-4c3b-9e8f-0a1b2c3d4e5f", Outcome: otelmap.OutcomeCompleted,
		Prompt: "Now the invoice, please: it shows the amounts without the discount", Answer: "The invoice has a separate row for the discount now.",
		Steps: []Step{
			{Say: "The rows keep their amounts; I add one for the discount.", Took: 5 * s, Context: 41_000},
			{Tool: "Edit", Args: map[string]any{"file_path": shop + "/src/invoice/rows.ts", "old_string": "return rows;", "new_string": "if (cart.code) rows.push(discountRow(cart));\nreturn rows;"}, Took: 100 * time.Millisecond, Result: "The file has been updated."},
			{Tool: "Bash", Args: map[string]any{"command": "npm test -- invoice"}, Took: 8 * s, Result: "Tests: 9 passed"},
			{Event: otelmap.EventCompaction, Say: "auto"},
			{Say: "Done.", Took: 3 * s, Context: 14_500},
		},
	}, {
		Ago: 3 * time.Hour, Host: "cline", Model: sonnet, Project: atlas, Session: "1794822334001", Outcome: otelmap.OutcomeFailed,
		Prompt: "Upgrade the map tiles to the new projection", Answer: "API request failed: 529 overloaded, after 3 retries",
		Steps: []Step{
			{Say: "Looking at the tile loader.", Took: 4 * s, Context: 21_000},
			{Tool: "read_file", Args: map[string]any{"path": "src/tiles/loader.ts"}, Took: 50 * time.Millisecond, Result: "…"},
			{Tool: "execute_command", Args: map[string]any{"command": "npm run build"}, Took: 41 * s, Error: "src/tiles/loader.ts(88,14): error TS2345: Argument of type 'LngLat' is not assignable to parameter of type 'Mercator'"},
			{Tool: "replace_in_file", Args: map[string]any{"path": "src/tiles/loader.ts", "diff": "------- SEARCH\nproject(point)\n=======\nproject(toMercator(point))\n+++++++ REPLACE"}, Took: 200 * time.Millisecond, Result: "saved"},
			{Tool: "execute_command", Args: map[string]any{"command": "npm run build"}, Took: 39 * s, Result: "built in 38.2s"},
			{Say: "", Took: 31 * s, Context: 30_200},
		},
	}, {
		Ago: 5 * time.Hour, Host: "claude-code", Model: sonnet, Project: infra, Session: "e3a9-infra", Outcome: otelmap.OutcomeInterrupted,
		Prompt: "Rotate the database passwords in staging", Answer: "",
		Steps: []Step{
			{Say: "I list the secrets first.", Took: 3 * s, Context: 12_000},
			{Tool: "Bash", Args: map[string]any{"command": "kubectl get secrets -n staging"}, Took: 2 * s, Asked: 12 * s, Result: "db-main   Opaque   2   81d"},
			{Tool: "Bash", Args: map[string]any{"command": "kubectl delete secret db-main -n staging"}, Took: 9 * s, Error: "The user rejected the call", Kind: otelmap.ErrorToolDenied},
		},
	}, {
		Ago: 7 * time.Hour, Host: "cline", Model: sonnet, Project: atlas, Session: "1794808110442", Outcome: otelmap.OutcomeCompleted,
		Prompt: "Why is the first paint slow on phones?", Answer: "The font blocks it: 214 KB before the first text. Preloading the subset brings it from 2.9 s to 1.1 s.",
		Steps: []Step{
			{Say: "I measure first.", Took: 3 * s, Context: 15_000},
			{Tool: "execute_command", Args: map[string]any{"command": "npx lighthouse http://localhost:5173 --only-categories=performance"}, Took: 48 * s, Result: "performance 61\nfirst contentful paint 2.9 s"},
			{Tool: "search_files", Args: map[string]any{"path": "src", "regex": "font-face"}, Took: 300 * time.Millisecond, Result: "Found 2 results."},
			{Say: "The font is the whole difference.", Took: 11 * s, Context: 19_400},
		},
	}}, earlier()...)
}

// earlier returns many short tasks of the days before.
func earlier() (out []Task) {
	prompts := []struct{ text, project, host, model string }{
		{"Add a retry with back-off to the importer", atlas, "claude-code", opus},
		{"Write the release notes for 2.4", shop, "claude-code", sonnet},
		{"Replace moment by Temporal in the calendar", shop, "cline", sonnet},
		{"Explain how the cache invalidates entries", atlas, "claude-code", opus},
		{"Move the Terraform state to the new bucket", infra, "claude-code", opus},
		{"Fix the flaky test in orders.spec.ts", shop, "cline", sonnet},
		{"Generate the API client from the schema", atlas, "codex", "gpt-5.2-codex"},
		{"Sort the imports and remove unused ones", shop, "claude-code", sonnet},
	}
	for i := range 34 {
		p := prompts[(i*5+i/8)%len(prompts)]
		ago := 21*time.Hour + time.Duration(i)*7*time.Hour + time.Duration(i%7)*51*time.Minute
		t := Task{
			Ago: ago, Host: p.host, Model: p.model, Project: p.project, Session: "earlier-" + string(rune('a'+i/3)) + p.project, Outcome: otelmap.OutcomeCompleted,
			Prompt: p.text, Answer: "Done.",
		}
		for k := range 4 + i*7%9 {
			t.Steps = append(t.Steps, Step{Say: "I continue with the next file.", Took: time.Duration(3+k%5) * s, Context: int64(12_000 + 4_000*k)},
				Step{Tool: []string{"Bash", "Read", "Edit", "Grep"}[(i+k)%4], Args: map[string]any{"command": "go test ./...", "n": k}, Took: time.Duration(1+(i*k)%40) * s / 2, Result: "ok"})
		}
		if i%6 == 2 {
			t.Steps = append(t.Steps, Step{Tool: "Bash", Args: map[string]any{"command": "npm run lint"}, Took: 4 * s, Error: "exit code 2: 3 problems (3 errors, 0 warnings)"})
		}
		if i%11 == 7 {
			t.Outcome, t.Answer = otelmap.OutcomeFailed, "API error: 429 rate limited"
		}
		out = append(out, t)
	}
	return out
}
