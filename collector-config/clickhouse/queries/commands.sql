-- Commands: the first word, how often, how many failed
SELECT splitByChar(' ', trimLeft(Command))[1] AS command, count() AS calls, countIf(Failed) AS failed, countIf(Denied) AS denied, quantile(0.95)(Seconds) AS p95_seconds
FROM otel.calls
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime} AND Command != ''
GROUP BY command
ORDER BY calls DESC, command
LIMIT 100
