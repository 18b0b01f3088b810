package config

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
)

// DestinationBudget names where messages about budgets go, beside the exporters of traces.
const DestinationBudget, budgetPrefix, budgetWebhook = "budget", "HOOKSPAN_BUDGET_", "HOOKSPAN_BUDGET_WEBHOOK"

// Budgets returns what the user wants to use at most, by the ends of the variables' names, such as day_usd, and the
// share of that, in percent, from which there is a warning. No project can change it.
func (c *Config) Budgets() (most map[string]float64, warn float64) {
	most = make(map[string]float64)
	for i := range table {
		name, ok := strings.CutPrefix(table[i].name, budgetPrefix)
		n, err := strconv.ParseFloat(cmp.Or(c.value(table[i].name).users(), table[i].byDefault), 64)
		if ok && err == nil {
			most[strings.ToLower(name)] = n / map[bool]float64{true: 100, false: 1}[table[i].kind == "usd"]
		}
	}
	warn = most["warn"]
	delete(most, "warn")
	return most, warn
}

// Webhook is the address that gets messages about budgets, nil for none. All of it but the host may be a credential.
func (c *Config) Webhook() *url.URL {
	v := c.value(budgetWebhook)
	if v.wrong || v.users() == "" {
		return nil
	}
	u, _ := url.Parse(v.users()) // Load has checked it.
	return u
}
