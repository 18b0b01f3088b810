-- Cost by repository, its address or else its name
SELECT Repository AS repository, count() AS tasks, sum(InputTokens) AS input_tokens, sum(OutputTokens) AS output_tokens, sum(Cost) AS cost_usd
FROM otel.tasks
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
GROUP BY repository
ORDER BY cost_usd DESC, repository
