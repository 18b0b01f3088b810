-- Users who were active in the period, but not in its last 14 days
SELECT User AS user, any(Team) AS team, max(Timestamp) AS last_task, count() AS tasks
FROM otel.tasks
WHERE Timestamp >= {since:DateTime} AND Timestamp < {until:DateTime} AND User != ''
GROUP BY user
HAVING last_task < {until:DateTime} - INTERVAL 14 DAY
ORDER BY last_task
