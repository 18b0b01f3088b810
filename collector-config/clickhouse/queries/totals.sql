-- Totals: tasks, calls, requests, tokens, cost
SELECT
    t.tasks, t.failed_tasks, c.calls, c.failed_calls, c.denied_calls, r.requests, t.input_tokens, t.output_tokens, t.cost_usd
FROM (
    SELECT count() AS tasks, countIf(Outcome IN ('failed', 'abandoned')) AS failed_tasks,
        sum(InputTokens) AS input_tokens, sum(OutputTokens) AS output_tokens, sum(Cost) AS cost_usd
    FROM otel.tasks WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
) AS t, (
    SELECT count() AS calls, countIf(Failed) AS failed_calls, countIf(Denied) AS denied_calls
    FROM otel.calls WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
) AS c, (
    SELECT count() AS requests FROM otel.requests WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
) AS r
