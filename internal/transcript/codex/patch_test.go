package codex

import "testing"

// The changes of a call in a script become the patch that the model wrote.
func TestPatchOfChanges(t *testing.T) {
	const changes = `{
		"/home/dev/ws/new.txt":{"type":"add","content":"one\ntwo\n"},
		"/home/dev/ws/sub/old.txt":{"type":"delete","content":"gone\n"},
		"/etc/motd":{"type":"update","unified_diff":"@@ -1,2 +1,2 @@\n hello\n-there\n+you\n","move_path":"/home/dev/ws/motd"},
		"/home/dev/ws/odd":{"type":"whatever"},
		"/home/dev/ws/no":7
	}`
	const want = "*** Begin Patch\n" +
		"*** Add File: new.txt\n+one\n+two\n" +
		"*** Delete File: sub/old.txt\n" +
		"*** Update File: /etc/motd\n*** Move to: motd\n@@\n hello\n-there\n+you\n" +
		"*** End Patch\n"
	if got := patch([]byte(changes), "/home/dev/ws"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := patch([]byte(`{"a":{"type":"add","content":"x"}}`), ""); got != "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n" {
		t.Errorf("without a folder: %q", got)
	}
}
