package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWhatMakeLeavesOutExists: a name that no test has would leave nothing out, and a test
// that got another name would run twice or never.
func TestWhatMakeLeavesOutExists(t *testing.T) {
	lists := regexp.MustCompile(`(?m)^(PAGE_)?REST *= (.*)$`).FindAllStringSubmatch(page(t, "Makefile"), -1)
	if len(lists) != 2 {
		t.Fatalf("lists %q, want REST and PAGE_REST", lists)
	}
	for _, list := range lists {
		folders := []string{"tests/collector", "tests/opencodecli", "tests/packages"}
		if list[1] != "" {
			folders = []string{"tests/ui"}
		}
		sources := ""
		for _, folder := range folders {
			files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				sources += page(t, folder+"/"+filepath.Base(file))
			}
		}
		for name := range strings.SplitSeq(list[2], "|") {
			if !strings.Contains(sources, "func "+name+"(") {
				t.Errorf("Makefile: %sREST has %s, which is no test of %v", list[1], name, folders)
			}
		}
	}
}
