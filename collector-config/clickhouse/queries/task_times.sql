-- Time of a task by agent: median and 95th percentile
SELECT ServiceName AS agent, count() AS tasks, quantileExact(0.5)(Seconds) AS p50_seconds, quantileExact(0.95)(Seconds) AS p95_seconds
FROM otel.tasks
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
GROUP BY agent
ORDER BY tasks DESC, agent
