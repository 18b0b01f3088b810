-- The tables for hookspan's spans in ClickHouse 24.3 or newer:
--
--   clickhouse-client --multiquery < tables.sql
--
-- A span is a row of otel_traces, in the columns of the Collector's exporter, and what
-- the queries ask for is taken from its attributes when it is written. Delivery is at
-- least once: the engine keeps one row for each span, and the views read one even
-- before it has done so. A row is kept for 400 days after the span; change TTL below,
-- or later with ALTER TABLE otel.otel_traces MODIFY TTL. Imported sessions that are
-- older than that do not stay.
CREATE DATABASE IF NOT EXISTS otel;

CREATE TABLE IF NOT EXISTS otel.otel_traces (
    Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    ParentSpanId String CODEC(ZSTD(1)),
    TraceState String CODEC(ZSTD(1)),
    SpanName LowCardinality(String) CODEC(ZSTD(1)),
    SpanKind LowCardinality(String) CODEC(ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ScopeName String CODEC(ZSTD(1)),
    ScopeVersion String CODEC(ZSTD(1)),
    SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    Duration UInt64 CODEC(ZSTD(1)),
    StatusCode LowCardinality(String) CODEC(ZSTD(1)),
    StatusMessage String CODEC(ZSTD(1)),
    Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String)) CODEC(ZSTD(1)),
    Links Nested (TraceId String, SpanId String, TraceState String, Attributes Map(LowCardinality(String), String)) CODEC(ZSTD(1)),

    Operation LowCardinality(String) MATERIALIZED SpanAttributes['gen_ai.operation.name'],
    Outcome LowCardinality(String) MATERIALIZED SpanAttributes['hookspan.outcome'],
    Error LowCardinality(String) MATERIALIZED SpanAttributes['error.type'],
    Agent LowCardinality(String) MATERIALIZED SpanAttributes['gen_ai.agent.name'],
    AgentVersion LowCardinality(String) MATERIALIZED SpanAttributes['hookspan.host_version'],
    Session String MATERIALIZED SpanAttributes['gen_ai.conversation.id'],
    Model LowCardinality(String) MATERIALIZED if(SpanAttributes['gen_ai.request.model'] != '', SpanAttributes['gen_ai.request.model'], SpanAttributes['hookspan.model']),
    Tool LowCardinality(String) MATERIALIZED SpanAttributes['gen_ai.tool.name'],
    Server LowCardinality(String) MATERIALIZED SpanAttributes['hookspan.mcp.server'],
    Command String MATERIALIZED substringUTF8(JSONExtractString(SpanAttributes['gen_ai.tool.call.arguments'], 'command'), 1, 200) CODEC(ZSTD(1)),
    -- A run without a request span has the second.
    InputTokens UInt64 MATERIALIZED toUInt64OrZero(if(SpanAttributes['hookspan.usage.input_tokens'] != '', SpanAttributes['hookspan.usage.input_tokens'], SpanAttributes['gen_ai.usage.input_tokens'])),
    OutputTokens UInt64 MATERIALIZED toUInt64OrZero(if(SpanAttributes['hookspan.usage.output_tokens'] != '', SpanAttributes['hookspan.usage.output_tokens'], SpanAttributes['gen_ai.usage.output_tokens'])),
    CachedTokens UInt64 MATERIALIZED toUInt64OrZero(if(SpanAttributes['hookspan.usage.cache_read.input_tokens'] != '', SpanAttributes['hookspan.usage.cache_read.input_tokens'], SpanAttributes['gen_ai.usage.cache_read.input_tokens'])),
    Cost Float64 MATERIALIZED toFloat64OrZero(SpanAttributes['hookspan.cost.usd']),
    -- What a task used beyond its requests: events say it, or there are no requests.
    RestInput UInt64 MATERIALIZED if(Outcome = '', 0, toUInt64OrZero(SpanAttributes['gen_ai.usage.input_tokens'])
        + arraySum(arrayMap((n, a) -> if(n = 'hookspan.usage', toUInt64OrZero(a['hookspan.usage.input_tokens']), 0), Events.Name, Events.Attributes))),
    RestOutput UInt64 MATERIALIZED if(Outcome = '', 0, toUInt64OrZero(SpanAttributes['gen_ai.usage.output_tokens'])
        + arraySum(arrayMap((n, a) -> if(n = 'hookspan.usage', toUInt64OrZero(a['hookspan.usage.output_tokens']), 0), Events.Name, Events.Attributes))),
    RestCost Float64 MATERIALIZED if(Outcome = '', 0, if(SpanAttributes['gen_ai.usage.input_tokens'] != '', Cost,
        arraySum(arrayMap((n, a) -> if(n = 'hookspan.usage', toFloat64OrZero(a['hookspan.cost.usd']), 0), Events.Name, Events.Attributes)))),
    Asked UInt8 MATERIALIZED has(Events.Name, 'hookspan.permission_request'),
    Team LowCardinality(String) MATERIALIZED if(ResourceAttributes['team.id'] != '', ResourceAttributes['team.id'], SpanAttributes['team.id']),
    Department LowCardinality(String) MATERIALIZED ResourceAttributes['department'],
    CostCenter LowCardinality(String) MATERIALIZED ResourceAttributes['cost_center'],
    User String MATERIALIZED if(ResourceAttributes['user.id'] != '', ResourceAttributes['user.id'], SpanAttributes['user.id']) CODEC(ZSTD(1)),
    -- Its address, else its name.
    Repository LowCardinality(String) MATERIALIZED multiIf(SpanAttributes['vcs.repository.url.full'] != '', SpanAttributes['vcs.repository.url.full'],
        SpanAttributes['vcs.repository.name'] != '', SpanAttributes['vcs.repository.name'], ResourceAttributes['vcs.repository.name']),
    Branch LowCardinality(String) MATERIALIZED SpanAttributes['vcs.ref.head.name'],
    BranchUnknown UInt8 MATERIALIZED SpanAttributes['hookspan.branch.unknown'] = 'true',

    INDEX by_trace TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX by_user User TYPE bloom_filter(0.001) GRANULARITY 1
) ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(Timestamp)
ORDER BY (toDate(Timestamp), TraceId, SpanId)
TTL toDateTime(Timestamp) + INTERVAL 400 DAY
SETTINGS index_granularity = 8192;

-- Each span once, without its maps.
CREATE OR REPLACE VIEW otel.spans AS
SELECT
    Timestamp, TraceId, SpanId, ParentSpanId, ServiceName, Duration / 1e9 AS Seconds, Operation, Outcome, Error, Agent, AgentVersion, Session,
    Model, Tool, Server, Command, InputTokens, OutputTokens, CachedTokens, Cost, RestInput, RestOutput, RestCost, Asked, Team, Department, CostCenter, User, Repository,
    Branch, BranchUnknown, if(SpanAttributes['vcs.repository.url.full'] != '', SpanAttributes['vcs.repository.url.full'], SpanAttributes['vcs.repository.name']) AS SpanRepository
FROM otel.otel_traces FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- A task is one prompt or start, with its calls and requests: the root of a trace.
CREATE OR REPLACE VIEW otel.tasks AS SELECT * FROM otel.spans WHERE Outcome != '';

-- A call of a tool. A denied call was denied or cancelled; it has not failed.
CREATE OR REPLACE VIEW otel.calls AS
SELECT *, Error IN ('ToolDenied', 'ToolCancelled') AS Denied, Error != '' AND NOT Denied AS Failed
FROM otel.spans WHERE Operation = 'execute_tool';

-- A request to a model. Its tokens and cost are also in its task's.
CREATE OR REPLACE VIEW otel.requests AS SELECT * FROM otel.spans WHERE Operation = 'chat';
