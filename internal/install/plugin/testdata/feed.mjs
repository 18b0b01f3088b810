// Loads a plugin and gives it recorded events: node feed.mjs PLUGIN EVENTS
import fs from "node:fs"
const { Hookspan } = await import(process.argv[2])
const hooks = await Hookspan({ directory: process.cwd() })
for (const line of fs.readFileSync(process.argv[3], "utf8").split("\n")) {
	if (!line) continue
	const { ts, event } = JSON.parse(line)
	Date.now = () => ts
	hooks.event({ event })
}
await hooks.dispose()
