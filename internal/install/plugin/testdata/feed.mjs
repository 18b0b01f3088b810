// Loads a plugin and gives it recorded events: node feed.mjs PLUGIN EVENTS
import fs from "node:fs"
const { Hookspan, default: extension } = await import(process.argv[2])
const events = fs.readFileSync(process.argv[3], "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line))
const hooks = await Hookspan?.({ directory: process.cwd() })
for (const { ts, event } of hooks ? events : []) {
	Date.now = () => ts
	hooks.event({ event })
}
await hooks?.dispose()

// Pi has an instance of an extension for each session, and calls its handlers before it writes
// a message's row.
let handlers = {}
const branch = []
for (const { ts, name, session, file, model, row, written, event } of extension ? events : []) {
	Date.now = () => ts
	if (name === "session_start") {
		handlers = {}
		extension({ on: (name, handler) => (handlers[name] = handler) })
		await new Promise((resolve) => setTimeout(resolve, 50)) // for the version
	}
	const sessionManager = { getSessionId: () => session, getSessionFile: () => file, getBranch: () => branch }
	await handlers[name]?.(event, session === null ? null : { cwd: process.cwd(), model, sessionManager })
	const said = written ?? event?.message
	if (row) branch.push({ id: row, ...(said.role === "custom" ? { type: "custom_message", content: said.content } : { type: "message", message: said }) })
	await new Promise((resolve) => setImmediate(resolve))
}
