package cline

import "testing"

func TestPromptText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"wrapped", `<user_input mode="act">Fix it</user_input>`, "Fix it"},
		{"lines kept", "<user_input mode=\"plan\">a\n  b\n</user_input>", "a\n  b"},
		{"plain", "Fix it", "Fix it"},
		{"white space around it", "\n <user_input mode=\"yolo\"> go </user_input> \n", "go"},
		{"quotes the end tag", `<user_input mode="act">strip </user_input> please</user_input>`, "strip </user_input> please"},
		{"quotes a whole element", `<user_input mode="act">what is <user_input mode="act">x</user_input>?</user_input>`, `what is <user_input mode="act">x</user_input>?`},
		{"with a notice", `<mode_notice>switched</mode_notice><user_input mode="act">go</user_input>`, "go"},
		{"notice inside", `<user_input mode="act"><mode_notice>switched</mode_notice>go</user_input>`, "go"},
		{"notice quoted later", `<user_input mode="act">what is <mode_notice>x</mode_notice>?</user_input>`, "what is <mode_notice>x</mode_notice>?"},
		{"with files behind", "<user_input mode=\"act\">go</user_input>\n<file_content path=\"a\">x</file_content>", "go"},
		{"with a file that quotes the end tag", "<user_input mode=\"act\">go</user_input><file_content path=\"a\">x</user_input></file_content>", "go"},
		{"command", `<user_input mode="act"><user_command slash="team">build</user_command></user_input>`, "build"},
		{"nothing", "  ", ""},
		{"only an image", `<user_input mode="act"></user_input>`, ""},
		{"resumed without a word", `<user_input mode="act">[TASK RESUMPTION] Please continue where you left off.</user_input>`, ""},
		{"resumed, not wrapped", "[TASK RESUMPTION] Please continue where you left off.", ""},
		{"typed, with the same beginning", `<user_input mode="act">[TASK RESUMPTION] Please continue where you left off. And push.</user_input>`, "[TASK RESUMPTION] Please continue where you left off. And push."},
		{"plan approved without a word", `<user_input mode="act"><mode_notice>switched</mode_notice>The user approved switching to act mode. Continue with the approved plan now.</user_input>`, ""},

		{"tags in the middle", `Explain <user_input mode="act">x</user_input> to me`, `Explain <user_input mode="act">x</user_input> to me`},
		{"text behind", `<user_input mode="act">x</user_input> is what Cline writes`, `<user_input mode="act">x</user_input> is what Cline writes`},
		{"not closed", `<user_input mode="act">go`, `<user_input mode="act">go`},
		{"no mode", `<user_input>go</user_input>`, `<user_input>go</user_input>`},
		{"another tag", `<user_inputs mode="act">go</user_inputs>`, `<user_inputs mode="act">go</user_inputs>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, asked := PromptText(c.in); got != c.want || !asked {
				t.Errorf("PromptText(%q) = %q, %v; want %q, true", c.in, got, asked, c.want)
			}
		})
	}
	for _, in := range []string{
		"[SYSTEM] This run is not complete until ...",
		`<hook_context source="x">y</hook_context>`,
	} {
		if got, asked := PromptText(in); got != in || asked {
			t.Errorf("PromptText(%q) = %q, %v; want it as it is, false", in, got, asked)
		}
	}
}

// TestDecodeUnwrapsTypedPrompt holds the dialects apart: classic Cline
// sends what was typed, so there tags are the user's own.
func TestDecodeUnwrapsTypedPrompt(t *testing.T) {
	const wrapped = `<user_input mode=\"act\">Fix it</user_input>`
	for _, c := range []struct{ name, task, model, body, want string }{
		{"next, prompt", "conv_1_a", "unknown", `"userPromptSubmit":{"prompt":"` + wrapped + `"}`, "Fix it"},
		{"next, task", "conv_1_a", "unknown", `"taskStart":{"taskMetadata":{"initialTask":"` + wrapped + `"}}`, "Fix it"},
		{"next, resumed", "conv_1_a", "unknown", `"userPromptSubmit":{"prompt":"[TASK RESUMPTION] Please continue where you left off."}`, ""},
		{"classic, prompt", "1795175957341", "m", `"userPromptSubmit":{"prompt":"` + wrapped + `"}`, `<user_input mode="act">Fix it</user_input>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := userPromptSubmit
			if c.body[1] == 't' {
				name = taskStart
			}
			ev := decodeOne(t, `{"hookName":"`+name+`","taskId":"`+c.task+`","model":{"provider":"`+c.model+`","slug":"`+c.model+`"},`+c.body+`}`, name)
			if ev.Prompt != c.want {
				t.Errorf("prompt %q, want %q", ev.Prompt, c.want)
			}
		})
	}
}
