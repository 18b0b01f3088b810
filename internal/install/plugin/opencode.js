// Hands the events that a trace needs to hookspan's hook program, one line of JSON
// each, through a pipe that the system empties even if AGENT is killed. AGENT
// calls event() without waiting for it; nothing here throws or waits.
export const Hookspan = async ({ directory }) => {
	const sessions = new Map() // by id: parent, agent, time of creation, turn, text and error of the turn's last message
	const messages = new Map() // of turns that have not ended, by id
	const turns = new Map() // the turns of the users' messages, by id
	const started = new Set() // parts: tool calls that run
	const asked = new Map() // requests for permission without a reply, by id
	const copies = new Set() // messages that a fork has copied: they are older than it

	const session = (id) => {
		if (!sessions.has(id)) sessions.set(id, {})
		return sessions.get(id)
	}
	const program = hookProgram(directory)
	const send = (type, id, more) => {
		const own = session(id)
		let root = id
		for (let i = 0; i < 100 && session(root).parent; i++) root = session(root).parent
		const line = { session: root, type, at: Date.now(), turn: own.turn, cwd: directory }
		if (root !== id) {
			line.agent = id
			line.agent_type = own.agent
			if (own.parent !== root) line.parent = own.parent
		}
		program.write(JSON.stringify({ ...line, ...more }))
	}

	const messageUpdated = (info) => {
		const own = session(info.sessionID)
		if (info.time?.created < own.created) return void copies.add(info.id)
		if (!messages.has(info.id)) {
			own.text = ""
			if (info.role === "user") {
				own.error = own.answer = undefined
				own.agent = info.agent
			}
		}
		messages.set(info.id, info)
		if (info.role === "assistant") {
			own.error = info.error
			own.answer = info.id
			own.turn = turnOf(info)
		}
	}
	// A message without anything of the person's continues the turn before it: AGENT
	// writes it after a compaction, for one, which is such a message itself.
	const turnOf = ({ sessionID, parentID }) => {
		if (parentID && !turns.has(parentID)) turns.set(parentID, session(sessionID).turn ?? parentID)
		return turns.get(parentID)
	}
	const partUpdated = (part) => {
		if (copies.has(part.messageID)) return
		const message = messages.get(part.messageID)
		if (message?.role === "user" && !part.synthetic && !part.ignored && !(part.type === "compaction" && part.auto)) {
			turns.set(message.id, message.id)
			session(part.sessionID).turn = message.id
		}
		if (part.type === "text" && message?.role === "user" && !part.synthetic && !part.ignored) {
			send("message.part.updated", part.sessionID, { turn: message.id, message, part })
		} else if (part.type === "text" && message?.role === "assistant" && !part.synthetic) {
			session(part.sessionID).text = part.text
		} else if (part.type === "tool") {
			const { status, input, output, error, time, metadata } = part.state
			if (metadata?.sessionId && part.tool === "task") session(metadata.sessionId).parent ??= part.sessionID
			if (status === "pending" || (status === "running" && started.has(part.id))) return
			if (status === "running") started.add(part.id)
			else started.delete(part.id)
			const { id, messageID, callID, tool } = part
			const state = { status, time, metadata: { exit: metadata?.exit, sessionId: metadata?.sessionId }, input, output, error }
			send("message.part.updated", part.sessionID, { turn: message && turnOf(message), part: { type: "tool", id, messageID, callID, tool, state } })
		}
	}
	const idle = (id) => {
		const { turn, answer, text, error } = session(id)
		send("session.idle", id, { turn, answer, error, text })
		for (const [key, message] of messages) {
			if (message.sessionID !== id || key === turn) continue
			messages.delete(key)
			turns.delete(key)
		}
	}
	const take = (type, p) => {
		switch (type) {
			case "session.created":
			case "session.updated":
				session(p.info.id).created = p.info.time?.created
				if (p.info.parentID) session(p.info.id).parent = p.info.parentID
				if (p.info.parentID || type === "session.updated") break
				return send(type, p.info.id, { version: p.info.version })
			case "message.updated":
				return messageUpdated(p.info)
			case "message.part.updated":
				return partUpdated(p.part)
			case "permission.asked":
				asked.set(p.id, { permission: p.permission, patterns: p.patterns, tool: p.tool })
				return send(type, p.sessionID, { id: p.id, ...asked.get(p.id) })
			case "permission.replied":
				send(type, p.sessionID, { id: p.requestID, reply: p.reply, ...asked.get(p.requestID) })
				return asked.delete(p.requestID)
			case "session.error":
				if (p.sessionID) session(p.sessionID).error ??= p.error
				break
			case "session.compacted":
				return send(type, p.sessionID, {})
			case "session.idle":
				return idle(p.sessionID)
		}
	}
	return {
		event: async ({ event }) => {
			try {
				take(event.type, event.properties)
			} catch {}
		},
		dispose: async () => {
			try {
				program.end()
			} catch {}
		},
	}
}
