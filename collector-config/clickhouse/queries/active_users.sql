-- Active users by team and week
SELECT toMonday(Timestamp) AS week, Team AS team, uniqExactIf(User, User != '') AS users, count() AS tasks
FROM otel.tasks
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime}
GROUP BY week, team
ORDER BY week, team
