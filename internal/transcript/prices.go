package transcript

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

//go:embed prices.json
var pricesJSON []byte

// priceList is prices.json: what Anthropic asked for its models at a date.
//
// List prices only. Not modelled are the dearer tier of requests over 200,000
// tokens, the fast mode, discounts, and searches on the web, which are paid by
// the piece.
type priceList struct {
	Date   string  `json:"date"`
	Source string  `json:"source"`
	Unit   string  `json:"unit"`
	Models []price `json:"models"`

	known map[string]*price
}

// price is what the versions From to To of a family of models cost, in USD per
// million tokens. A cache write is dearer the longer it lasts.
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
	n, ok := versionOf(major, minor)
	if !ok {
		return fmt.Errorf("version %q: want <major> or <major>.<minor>", text)
	}
	*v = n
	return nil
}

func versionOf(major, minor string) (modelVersion, bool) {
	a, ok := smallNumber(major)
	if !ok {
		return 0, false
	}
	if minor == "" {
		return modelVersion(a * 100), true
	}
	b, ok := smallNumber(minor)
	return modelVersion(a*100 + b), ok
}

// smallNumber reads one or two digits; a date has more.
func smallNumber(s string) (int, bool) {
	if s == "" || len(s) > 2 {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0
}

func loadPrices() (*priceList, error) {
	p := priceList{known: make(map[string]*price)}
	if err := json.Unmarshal(pricesJSON, &p); err != nil {
		return nil, fmt.Errorf("read the price list: %w", err)
	}
	return &p, nil
}

// of returns a model's price, nil where the list has none.
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

// parseModel reads family and version from a model's name in any of its
// spellings: claude-opus-4-1-20250805, claude-3-5-haiku-latest,
// us.anthropic.claude-sonnet-4-5-20250929-v1:0 (Bedrock, also as the end of an
// ARN), claude-sonnet-4-5@20250929 (Vertex AI), anthropic/claude-sonnet-4.5,
// claude-sonnet-5[1m].
func parseModel(model string) (family string, version modelVersion, ok bool) {
	name := strings.ToLower(model)
	name = name[strings.LastIndexByte(name, '/')+1:]
	if i := strings.Index(name, "claude-"); i == 0 || i > 0 && name[i-1] == '.' {
		name = name[i+len("claude-"):]
	} else {
		return "", 0, false
	}
	name = strings.TrimSuffix(name, "[1m]")
	name, _, _ = strings.Cut(name, "@")
	name, _, _ = strings.Cut(name, ":")
	name = strings.ReplaceAll(name, ".", "-")
	var numbers []string
	for _, part := range strings.Split(name, "-") {
		_, small := smallNumber(part)
		switch {
		case small:
			numbers = append(numbers, part)
		case part == "latest", isDate(part), len(part) == 2 && part[0] == 'v':
			// Of one model, not another.
		case family == "" && part != "":
			family = part
		default:
			return "", 0, false
		}
	}
	if family == "" || len(numbers) == 0 || len(numbers) > 2 {
		return "", 0, false
	}
	version, ok = versionOf(numbers[0], strings.Join(numbers[1:], ""))
	return family, version, ok
}

func isDate(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return len(s) == 8 && err == nil
}

// cost is what a call costs in USD.
func (p *price) cost(c *claudeCounts) float64 {
	write := c.write()
	write1h := min(c.at(countWrite1h), write)
	sum := float64(c.at(countInput))*p.Input + float64(c.at(countOutput))*p.Output +
		float64(c.at(countRead))*p.Read + float64(write1h)*p.Write1h + float64(write-write1h)*p.Write5m
	return sum / 1e6
}
