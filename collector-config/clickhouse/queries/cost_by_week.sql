-- Cost by week
SELECT toMonday(Timestamp) AS week, count() AS tasks, sum(InputTokens) AS input_tokens, sum(OutputTokens) AS output_tokens, sum(Cost) AS cost_usd
FROM otel.tasks
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
GROUP BY week
ORDER BY week
