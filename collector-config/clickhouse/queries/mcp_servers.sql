-- MCP servers and their tools
SELECT Server AS server, Tool AS tool, count() AS calls, countIf(Failed) AS failed, uniqExact(TraceId) AS tasks
FROM otel.calls
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime} AND Server != ''
GROUP BY server, tool
ORDER BY calls DESC, server, tool
