-- Calls by tool: failed, denied, times
SELECT Tool AS tool, count() AS calls, countIf(Failed) AS failed, countIf(Denied) AS denied, quantile(0.5)(Seconds) AS p50_seconds, quantile(0.95)(Seconds) AS p95_seconds
FROM otel.calls
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
GROUP BY tool
ORDER BY failed DESC, calls DESC, tool
