-- Cost by model. What a task used beyond its requests, such as deleted ones, is of its model
SELECT
    Model AS model, countIf(Operation = 'chat') AS requests, sum(if(Operation = 'chat', InputTokens, RestInput)) AS input_tokens,
    sum(if(Operation = 'chat', OutputTokens, RestOutput)) AS output_tokens, sum(if(Operation = 'chat', Cost, RestCost)) AS cost_usd
FROM otel.spans
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime} AND (Operation = 'chat' OR RestInput + RestOutput > 0)
GROUP BY model
ORDER BY cost_usd DESC, model
