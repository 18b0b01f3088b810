-- Cost by user
SELECT User AS user, count() AS tasks, sum(InputTokens) AS input_tokens, sum(OutputTokens) AS output_tokens, sum(Cost) AS cost_usd
FROM otel.tasks
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
GROUP BY user
ORDER BY cost_usd DESC, user
