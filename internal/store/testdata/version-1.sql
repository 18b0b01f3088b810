PRAGMA application_id = 1751872368;
PRAGMA auto_vacuum = INCREMENTAL;
BEGIN TRANSACTION;
CREATE TABLE origins (
		id   INTEGER PRIMARY KEY,
		body TEXT NOT NULL UNIQUE
	) STRICT;
INSERT INTO "origins" VALUES(1,'{"resource":{"attributes":[{"key":"host.arch","value":{"stringValue":"amd64"}},{"key":"host.name","value":{"stringValue":"dev"}},{"key":"os.type","value":{"stringValue":"linux"}},{"key":"service.name","value":{"stringValue":"claude-code"}},{"key":"service.version","value":{"stringValue":"2.1.329"}}]},"schemaUrl":"https://opentelemetry.io/schemas/1.41.0","scope":{"name":"github.com/hookspan/hookspan","version":"bc06079"},"scopeSchemaUrl":"https://opentelemetry.io/schemas/1.41.0"}');
CREATE TABLE spans (
		trace       INTEGER NOT NULL REFERENCES traces (id),
		span_id     TEXT NOT NULL,
		parent_id   TEXT NOT NULL,
		origin      INTEGER NOT NULL REFERENCES origins (id),
		started     INTEGER NOT NULL,
		ended       INTEGER NOT NULL,
		role        INTEGER NOT NULL,
		failed      INTEGER NOT NULL,
		model       TEXT NOT NULL,
		input       INTEGER,
		output      INTEGER,
		cache_read  INTEGER,
		cache_write INTEGER,
		cost        REAL,
		body        TEXT NOT NULL,
		PRIMARY KEY (trace, span_id)
	) STRICT;
INSERT INTO "spans" VALUES(1,'2ff333236a7af42e','',1,1795179279844000000,1795179279955000000,1,1,'claude-opus-5-5',NULL,NULL,NULL,NULL,NULL,'{"traceId":"09dc1575b2fd54c2f59398a22b29685d","spanId":"2ff333236a7af42e","flags":257,"name":"invoke_agent claude-code","kind":1,"startTimeUnixNano":"1795179279844000000","endTimeUnixNano":"1795179279955000000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"invoke_agent"}},{"key":"gen_ai.agent.name","value":{"stringValue":"claude-code"}},{"key":"gen_ai.conversation.id","value":{"stringValue":"101bea7b-f377-461b-b9a4-b2dbe1fd215a"}},{"key":"hookspan.host","value":{"stringValue":"claude-code"}},{"key":"hookspan.outcome","value":{"stringValue":"failed"}},{"key":"hookspan.dialect","value":{"stringValue":"claude"}},{"key":"hookspan.host.version","value":{"stringValue":"2.1.329"}},{"key":"gen_ai.provider.name","value":{"stringValue":"anthropic"}},{"key":"hookspan.host.provider","value":{"stringValue":"anthropic"}},{"key":"gen_ai.request.model","value":{"stringValue":"claude-opus-5-5"}},{"key":"process.working_directory","value":{"stringValue":"/home/dev/project"}},{"key":"hookspan.prompt.id","value":{"stringValue":"f07910d7-9009-4090-b0ca-3caad8ee5dce"}},{"key":"hookspan.task","value":{"stringValue":"do the work"}},{"key":"hookspan.tool.calls","value":{"intValue":"0"}},{"key":"hookspan.tool.failures","value":{"intValue":"0"}},{"key":"hookspan.llm.requests","value":{"intValue":"1"}},{"key":"error.type","value":{"stringValue":"invalid_request_error"}}],"events":[{"timeUnixNano":"1795179279844000000","name":"hookspan.prompt","attributes":[{"key":"hookspan.text","value":{"stringValue":"do the work"}}]},{"timeUnixNano":"1795179279955000000","name":"exception","attributes":[{"key":"exception.type","value":{"stringValue":"invalid_request_error"}},{"key":"exception.message","value":{"stringValue":"API Error: 400 mock error"}}]}],"status":{"message":"API Error: 400 mock error","code":2}}');
INSERT INTO "spans" VALUES(1,'5b082723931b3984','2ff333236a7af42e',1,1795179279844000000,1795179279955000000,3,1,'claude-opus-5-5',NULL,NULL,NULL,NULL,NULL,'{"traceId":"09dc1575b2fd54c2f59398a22b29685d","spanId":"5b082723931b3984","parentSpanId":"2ff333236a7af42e","flags":257,"name":"chat claude-opus-5-5","kind":3,"startTimeUnixNano":"1795179279844000000","endTimeUnixNano":"1795179279955000000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.conversation.id","value":{"stringValue":"101bea7b-f377-461b-b9a4-b2dbe1fd215a"}},{"key":"gen_ai.provider.name","value":{"stringValue":"anthropic"}},{"key":"gen_ai.request.model","value":{"stringValue":"claude-opus-5-5"}},{"key":"hookspan.host.provider","value":{"stringValue":"anthropic"}},{"key":"hookspan.llm.finish","value":{"stringValue":"invalid_request_error"}},{"key":"error.type","value":{"stringValue":"invalid_request_error"}}],"events":[{"timeUnixNano":"1795179279955000000","name":"exception","attributes":[{"key":"exception.type","value":{"stringValue":"invalid_request_error"}},{"key":"exception.message","value":{"stringValue":"API Error: 400 mock error"}}]}],"status":{"message":"API Error: 400 mock error","code":2}}');
CREATE TABLE traces (
		id            INTEGER PRIMARY KEY,
		trace_id      TEXT NOT NULL UNIQUE,
		host          TEXT NOT NULL DEFAULT '',
		session       TEXT NOT NULL DEFAULT '',
		title         TEXT NOT NULL DEFAULT '',
		model         TEXT NOT NULL DEFAULT '',
		directory     TEXT NOT NULL DEFAULT '',
		outcome       TEXT NOT NULL DEFAULT '',
		runs          INTEGER NOT NULL DEFAULT 0,
		started       INTEGER NOT NULL DEFAULT 0,
		ended         INTEGER NOT NULL DEFAULT 0,
		spans         INTEGER NOT NULL DEFAULT 0,
		tools         INTEGER NOT NULL DEFAULT 0,
		tool_failures INTEGER NOT NULL DEFAULT 0,
		input         INTEGER,
		output        INTEGER,
		cache_read    INTEGER,
		cache_write   INTEGER,
		cost          REAL
	) STRICT;
INSERT INTO "traces" VALUES(1,'09dc1575b2fd54c2f59398a22b29685d','claude-code','101bea7b-f377-461b-b9a4-b2dbe1fd215a','do the work','claude-opus-5-5','/home/dev/project','failed',1,1795179279844000000,1795179279955000000,2,0,0,NULL,NULL,NULL,NULL,NULL);
CREATE INDEX traces_started ON traces (started, trace_id);
CREATE INDEX traces_session ON traces (session, started, trace_id);
CREATE INDEX traces_outcome ON traces (outcome, started, trace_id);
CREATE INDEX traces_ended   ON traces (ended);
CREATE INDEX spans_roots ON spans (trace, started) WHERE role = 1;
CREATE INDEX spans_origin ON spans (origin);
COMMIT;
PRAGMA user_version = 1;
