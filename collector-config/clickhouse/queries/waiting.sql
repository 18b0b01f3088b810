-- Calls that asked for permission, by tool, and how long they took, the answer included
SELECT Tool AS tool, count() AS calls, countIf(Denied) AS denied, quantile(0.5)(Seconds) AS p50_seconds, sum(Seconds) / 3600 AS hours
FROM otel.calls
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime} AND Asked
GROUP BY tool
ORDER BY hours DESC, tool
