-- Cost by repository, its address or else its name, of the requests that were made in each
SELECT
    if(request AND SpanRepository != '', SpanRepository, run.Repository) AS repository, uniqExact(TraceId) AS tasks, sum(if(request, InputTokens, RestInput)) AS input_tokens,
    sum(if(request, OutputTokens, RestOutput)) AS output_tokens, sum(if(request, Cost, RestCost)) AS cost_usd
FROM (SELECT *, Operation = 'chat' AS request FROM otel.spans) AS span
INNER JOIN (
    SELECT TraceId, countIf(Operation = 'chat') AS requests, anyIf(Repository, Outcome != '') AS Repository FROM otel.spans GROUP BY TraceId
) AS run USING TraceId
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime} AND (request OR Outcome != '' AND (RestInput + RestOutput > 0 OR requests = 0))
GROUP BY repository
ORDER BY cost_usd DESC, repository
