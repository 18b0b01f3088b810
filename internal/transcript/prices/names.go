package prices

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// withoutDate returns a name without the date of a snapshot: gpt-5.5-2026-04-23,
// gemini-2.5-pro-20250617, gemini-2.5-pro@20250617.
func withoutDate(name string) string {
	for _, layout := range [...]string{"-2006-01-02", "-20060102", "@20060102"} {
		n := len(name) - len(layout)
		if n <= 0 {
			continue
		}
		if _, err := time.Parse(layout, name[n:]); err == nil {
			return name[:n]
		}
	}
	return name
}

// version is that of a Claude model, 100 for each major and 1 for each minor step.
type version int

// UnmarshalText reads "4" or "4.5".
func (v *version) UnmarshalText(text []byte) error {
	major, minor, _ := strings.Cut(string(text), ".")
	n, err := strconv.ParseUint(major, 10, 8)
	if err != nil {
		return fmt.Errorf("version %q: want <major> or <major>.<minor>", text)
	}
	m, _ := strconv.ParseUint("0"+minor, 10, 8)
	*v = version(n*100 + m)
	return nil
}

// claudeName matches a Claude model's name in any of its spellings:
// claude-opus-4-1-20250805, claude-3-5-haiku-latest,
// us.anthropic.claude-sonnet-4-5-20250929-v1:0 (Bedrock, also as the end of an
// ARN), claude-sonnet-4-5@20250929 (Vertex AI), anthropic/claude-sonnet-4.5,
// claude-sonnet-5[1m]. The version is before or behind the family.
const claudeName = `(?:^|[./])claude-(?:(\d\d?(?:[-.]\d\d?)?)-)?([a-z]+)(?:-(\d\d?(?:[-.]\d\d?)?))?` +
	`(?:-latest|-\d{8}|-v\d)*(?:\[1m\])?(?:[@:][^/]*)?$`

var claudePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(claudeName) })

func parseClaude(name string) (family string, v version, ok bool) {
	m := claudePattern().FindStringSubmatch(strings.ToLower(name))
	if m == nil || (m[1] == "") == (m[3] == "") {
		return "", 0, false
	}
	err := v.UnmarshalText([]byte(strings.Replace(m[1]+m[3], "-", ".", 1)))
	return m[2], v, err == nil
}
