// Hands the events that a trace needs to hookspan's hook program, one line of JSON each,
// through a pipe that the system empties even if AGENT is killed. AGENT waits for its
// extensions' handlers: nothing here throws or waits, but for that pipe when a session ends.
export default function (pi) {
	let program
	let turn // the row of the message that began the task; empty between tasks
	let said // a prompt, until its row is written
	let last // the task's last message of the model
	let answered // when it came, if it calls no tool
	let asked = {} // the task's dialogs, by event: AGENT gives them no ids
	const args = new Map() // of calls that run, by id
	let version
	import("@earendil-works/pi-coding-agent").then((m) => (version = m.VERSION), () => {})

	const text = (content, between) =>
		Array.isArray(content) ? content.filter((part) => part.type === "text").map((part) => part.text).join(between) : content
	const model = (of) => of && { provider: of.provider, id: of.id }
	const send = (type, ctx, more) => {
		program ??= hookProgram(ctx.cwd)
		const session = ctx.sessionManager
		program.write(JSON.stringify({
			session: session.getSessionId(), type, at: Date.now(), turn, cwd: ctx.cwd, transcript_path: session.getSessionFile(), version, ...more,
		}))
	}
	// A message has a row when AGENT has called all handlers of its end.
	const prompt = (late) => {
		if (!said) return
		const { message, role, id, ctx, at, rows } = said
		// Another extension may replace the message.
		const row = ctx.sessionManager.getBranch().slice(rows).find((r) => (r.message?.role ?? r.type) === (role === "custom" ? "custom_message" : role))
		if (!row && !late) return
		said = undefined
		const queued = turn ? true : undefined
		turn ??= row?.id ?? id
		const { content } = row?.message ?? row ?? message
		send("message_end", ctx, { role, text: text(content, "\n"), model: model(ctx.model), at, queued, messageId: queued ? id : turn })
	}
	const settle = (ctx, aborted) => {
		if (!turn && !last) return
		// A request that failed is the end, also if the wait before it is repeated was aborted.
		const outcome = aborted && last?.stopReason !== "error" ? "aborted" : last?.stopReason
		try {
			send("agent_settled", ctx, { outcome, errorMessage: last?.errorMessage, text: text(last?.content, "") })
		} finally {
			turn = last = answered = undefined
			asked = {}
		}
	}
	const on = (name, take) =>
		pi.on(name, (event, ctx) => {
			try {
				prompt(true)
				return take(event, ctx)
			} catch {}
		})

	on("session_start", ({ reason }, ctx) => send("session_start", ctx, { reason }))
	on("message_end", ({ message }, ctx) => {
		if (message.role === "assistant") {
			last = message
			answered = message.stopReason === "toolUse" ? undefined : Date.now()
		} else if (message.role === "user" || (message.role === "custom" && (!turn || answered))) {
			if (answered <= message.timestamp) settle(ctx) // an extension goes on before AGENT has settled
			said = { message, role: message.role, id: String(message.timestamp), ctx, at: Date.now(), rows: ctx.sessionManager.getBranch().length }
			setImmediate(() => {
				try {
					prompt(false)
				} catch {}
			})
		}
	})
	on("turn_end", ({ message, messageEntryId }, ctx) => send("turn_end", ctx, { messageEntryId, message: { ...message, content: undefined } }))
	on("tool_execution_start", ({ type, ...call }, ctx) => {
		args.set(call.toolCallId, call.args)
		send(type, ctx, { ...call, asked: last?.timestamp })
	})
	on("tool_execution_end", ({ type, result, ...call }, ctx) => {
		send(type, ctx, { ...call, asked: last?.timestamp, args: args.get(call.toolCallId), text: text(result?.content, "\n") })
		args.delete(call.toolCallId)
	})
	on("session_compact", ({ type, reason, compactionEntry }, ctx) => send(type, ctx, { reason, messageId: compactionEntry?.id }))
	on("session_tree", ({ type, summaryEntry }, ctx) => {
		if (summaryEntry) send(type, ctx, { messageId: summaryEntry.id }) // it cost a request
	})
	on("model_select", ({ type, ...to }, ctx) => {
		if (turn) send(type, ctx, { model: model(to.model) })
	})
	for (const name of ["ui_prompt_start", "ui_prompt_end"]) {
		on(name, ({ kind, title }, ctx) => {
			if (!turn) return
			asked[name] = (asked[name] ?? 0) + 1
			send(name, ctx, { kind, title, messageId: turn + "/" + asked[name] })
		})
	}
	on("agent_settled", ({ aborted }, ctx) => settle(ctx, aborted))
	on("session_shutdown", ({ type, reason }, ctx) => {
		send(type, ctx, { reason })
		return program.end()
	})
}
