package config

import (
	"strings"
	"testing"
)

type budgets struct{ dayUSD, weekUSD, dayTokens, weekTokens, plan, warn float64 }

func TestBudgetsAreThoseOfTheFiles(t *testing.T) {
	const hook = "HOOKSPAN_BUDGET_WEBHOOK=https://hooks.example/T0/t0psecret\n"
	all := "HOOKSPAN_BUDGET_DAY_USD=12.5\nHOOKSPAN_BUDGET_WEEK_USD=0.1\nHOOKSPAN_BUDGET_DAY_TOKENS=7\nHOOKSPAN_BUDGET_WEEK_TOKENS=1000000000000\n" +
		"HOOKSPAN_BUDGET_PLAN_PERCENT=90\nHOOKSPAN_BUDGET_WARN=50\n"
	every := budgets{12.5, 0.1, 7, 1e12, 90, 50}
	for name, tt := range map[string]struct {
		file, machine, environment string
		want                       budgets
		webhook, problem           string
	}{
		"none":                      {want: budgets{warn: 80}},
		"all":                       {file: all + hook, want: every, webhook: "https://hooks.example/T0/t0psecret"},
		"the machine's":             {machine: all + hook, want: every, webhook: "https://hooks.example/T0/t0psecret"},
		"the user's come first":     {file: all, machine: "HOOKSPAN_BUDGET_DAY_USD=1", want: every},
		"not a project's":           {environment: strings.ReplaceAll(all+hook, "\n", " "), want: budgets{warn: 80}},
		"beside a project's":        {file: all + hook, environment: "HOOKSPAN_BUDGET_DAY_USD=1000 HOOKSPAN_BUDGET_WEBHOOK=https://evil.example HOOKSPAN_CONFIG_FILE=/w/x.env", want: every, webhook: "https://hooks.example/T0/t0psecret"},
		"managed ones hold":         {file: all, machine: "HOOKSPAN_MANAGED=true\nHOOKSPAN_BUDGET_DAY_USD=5", want: budgets{5, 0.1, 7, 1e12, 90, 80}, problem: "HOOKSPAN_BUDGET_WARN: has no effect"},
		"a managed address holds":   {file: "HOOKSPAN_BUDGET_WEBHOOK=https://evil.example", machine: "HOOKSPAN_MANAGED=true\n" + hook, want: budgets{warn: 80}, webhook: "https://hooks.example/T0/t0psecret", problem: "HOOKSPAN_BUDGET_WEBHOOK: has no effect"},
		"nothing":                   {file: "HOOKSPAN_BUDGET_DAY_USD=0", want: budgets{warn: 80}, problem: `HOOKSPAN_BUDGET_DAY_USD: found "0"`},
		"no number":                 {file: "HOOKSPAN_BUDGET_DAY_USD=NaN\nHOOKSPAN_BUDGET_WEEK_USD=-Inf", want: budgets{warn: 80}, problem: `HOOKSPAN_BUDGET_DAY_USD: found "NaN"`},
		"too much":                  {file: "HOOKSPAN_BUDGET_PLAN_PERCENT=101", want: budgets{warn: 80}, problem: `HOOKSPAN_BUDGET_PLAN_PERCENT: found "101"`},
		"no address":                {file: "HOOKSPAN_BUDGET_WEBHOOK=hooks.example/t0psecret", want: budgets{warn: 80}, problem: `HOOKSPAN_BUDGET_WEBHOOK: found "****"`},
		"cleartext":                 {file: strings.Replace(hook, "https", "http", 1), want: budgets{warn: 80}, problem: "HOOKSPAN_BUDGET_WEBHOOK: would send credentials over cleartext http"},
		"cleartext that is allowed": {file: "HOOKSPAN_ALLOW_INSECURE=true\n" + strings.Replace(hook, "https", "http", 1), want: budgets{warn: 80}, webhook: "http://hooks.example/T0/t0psecret"},
		"cleartext that a project allows": {
			file: strings.Replace(hook, "https", "http", 1), environment: "HOOKSPAN_ALLOW_INSECURE=true", want: budgets{warn: 80},
			problem: "HOOKSPAN_BUDGET_WEBHOOK: would send credentials over cleartext http",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(tt.file, strings.Fields(tt.environment)...)
			in.MachineFile, in.ReadMachine = "/etc/hookspan/hookspan.env", func(string) ([]byte, error) { return []byte(tt.machine), nil }
			c, err := Load(in)
			most, warn := c.Budgets()
			if got := (budgets{most["day_usd"], most["week_usd"], most["day_tokens"], most["week_tokens"], most["plan_percent"], warn}); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			got := ""
			if u := c.Webhook(); u != nil {
				got = u.String()
			}
			if got != tt.webhook {
				t.Errorf("webhook %q, want %q", got, tt.webhook)
			}
			shown := ""
			for _, s := range c.Settings() {
				shown += s.Value
			}
			if err != nil {
				shown += err.Error()
			}
			if strings.Contains(shown, "t0psecret") {
				t.Errorf("shown is %s", shown)
			}
			if tt.problem == "" && err != nil && !strings.Contains(err.Error(), "/w/x.env") || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
				t.Errorf("error %v, want %q", err, tt.problem)
			}
		})
	}
}
