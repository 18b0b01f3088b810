-- Agents and their versions
SELECT ServiceName AS agent, AgentVersion AS version, uniqExactIf(User, User != '') AS users, count() AS tasks, max(Timestamp) AS last_used
FROM otel.tasks
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
GROUP BY agent, version
ORDER BY tasks DESC, agent, version
