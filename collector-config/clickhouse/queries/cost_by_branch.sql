-- Cost by branch, of the requests that were made on each. Where it is in doubt, both names are empty
SELECT
    if(branch = '', '', repository) AS repository, branch, uniqExact(TraceId) AS tasks, sum(if(request, InputTokens, RestInput)) AS input_tokens,
    sum(if(request, OutputTokens, RestOutput)) AS output_tokens, sum(if(request, Cost, RestCost)) AS cost_usd
FROM (
    SELECT
        *, Operation = 'chat' AS request, if(request AND SpanRepository != '', SpanRepository, run.Repository) AS repository,
        multiIf(request AND Branch != '', Branch, BranchUnknown, '', request, run.Branch, Branch) AS branch
    FROM otel.spans
    INNER JOIN (
        SELECT TraceId, countIf(Operation = 'chat') AS requests, anyIf(Repository, Outcome != '') AS Repository,
            if(uniqExactIf(Branch, Outcome != '') = 1, anyIf(Branch, Outcome != ''), '') AS Branch
        FROM otel.spans GROUP BY TraceId
    ) AS run USING TraceId
    WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
        AND (request OR Outcome != '' AND (RestInput + RestOutput > 0 OR requests = 0))
)
GROUP BY repository, branch
ORDER BY cost_usd DESC, repository, branch
