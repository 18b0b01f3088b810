package claude

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:embed prices.json
var pricesJSON []byte

// priceList is prices.json: Anthropic's list prices at a date.
type priceList struct {
	Date   string  `json:"date"`
	Source string  `json:"source"`
	Unit   string  `json:"unit"`
	Models []price `json:"models"`

	known map[string]*price
}

// price is what the versions From to To of a family of models cost, in USD per
// million tokens. A cache write costs more the longer it lasts.
type price struct {
	Family  string       `json:"family"`
	From    modelVersion `json:"from"`
	To      modelVersion `json:"to"`
	Input   float64      `json:"input"`
	Write5m float64      `json:"write5m"`
	Write1h float64      `json:"write1h"`
	Read    float64      `json:"read"`
	Output  float64      `json:"output"`
}

// modelVersion is a version of a model, 100 for each major and 1 for each
// minor step.
type modelVersion int

// UnmarshalText reads "4" or "4.5".
func (v *modelVersion) UnmarshalText(text []byte) error {
	major, minor, _ := strings.Cut(string(text), ".")
	n, err := strconv.ParseUint(major, 10, 8)
	if err != nil {
		return fmt.Errorf("version %q: want <major> or <major>.<minor>", text)
	}
	m, _ := strconv.ParseUint("0"+minor, 10, 8)
	*v = modelVersion(n*100 + m)
	return nil
}

// parsedPrices is prices.json, which an import needs for each of thousands of
// sessions.
var parsedPrices = sync.OnceValues(func() (p priceList, err error) {
	if err = json.Unmarshal(pricesJSON, &p); err != nil {
		err = fmt.Errorf("read the price list: %w", err)
	}
	return p, err
})

// loadPrices returns the prices for one reading.
func loadPrices() (*priceList, error) {
	p, err := parsedPrices()
	p.known = make(map[string]*price)
	return &p, err
}

// of returns a model's price, nil if the list has none.
func (p *priceList) of(model string) *price {
	found, ok := p.known[model]
	if ok {
		return found
	}
	if family, version, ok := parseModel(model); ok {
		for i := range p.Models {
			if m := &p.Models[i]; m.Family == family && m.From <= version && version <= m.To {
				found = m
			}
		}
	}
	p.known[model] = found
	return found
}

// modelName matches a model's name in any of its spellings:
// claude-opus-4-1-20250805, claude-3-5-haiku-latest,
// us.anthropic.claude-sonnet-4-5-20250929-v1:0 (Bedrock, also as the end of an
// ARN), claude-sonnet-4-5@20250929 (Vertex AI), anthropic/claude-sonnet-4.5,
// claude-sonnet-5[1m]. The version is before or behind the family.
const modelName = `(?:^|[./])claude-(?:(\d\d?(?:[-.]\d\d?)?)-)?([a-z]+)(?:-(\d\d?(?:[-.]\d\d?)?))?` +
	`(?:-latest|-\d{8}|-v\d)*(?:\[1m\])?(?:[@:][^/]*)?$`

var modelPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(modelName) })

func parseModel(model string) (family string, version modelVersion, ok bool) {
	m := modelPattern().FindStringSubmatch(strings.ToLower(model))
	if m == nil || (m[1] == "") == (m[3] == "") {
		return "", 0, false
	}
	err := version.UnmarshalText([]byte(strings.Replace(m[1]+m[3], "-", ".", 1)))
	return m[2], version, err == nil
}

// cost is what a call costs in USD.
func (p *price) cost(c *counts) float64 {
	write := c.written()
	write1h := min(c.write1h, write)
	sum := float64(c.input)*p.Input + float64(c.output)*p.Output +
		float64(c.read)*p.Read + float64(write1h)*p.Write1h + float64(write-write1h)*p.Write5m
	return sum / 1e6
}
