-- Deletion of everything of one user: the tasks with this user.id, and all their spans.
-- It returns at once; system.mutations shows when it is done.
ALTER TABLE otel.otel_traces DELETE WHERE TraceId IN (SELECT TraceId FROM otel.otel_traces WHERE User = {user:String})
