import { spawn } from "node:child_process"

const hook = HOOK_PROGRAM

// hookProgram writes lines to hookspan's hook program, which it starts with the first one, and
// again if it ends. In Bun only its own pipe takes a line at once: what child_process keeps for
// later is lost when AGENT exits. end waits until the program has the lines, for a second at most.
const hookProgram = (directory) => {
	let child
	let retryAt = 0
	const start = () => {
		const { GOMEMLIMIT, GODEBUG, ...env } = process.env // malformed ones end a Go program
		const gone = () => {
			if (child === program) child = undefined
		}
		let waiting = 0
		const program = {}
		if (globalThis.Bun) {
			const p = Bun.spawn([hook, "WORD"], { cwd: directory, env, stdin: "pipe", stdout: "ignore", stderr: "ignore", detached: true, windowsHide: true, onExit: gone })
			p.unref()
			const later = (promise, then) => promise?.then?.(then, gone) // not thrown, nor waited for
			program.end = () => Promise.resolve(p.stdin.end()).catch(gone)
			program.write = (line) => {
				if (waiting > 8 << 20) return // the program hangs
				const written = p.stdin.write(line)
				if (written?.then) waiting += line.length
				later(written, () => (waiting -= line.length))
				later(p.stdin.flush())
			}
			return program
		}
		const p = spawn(hook, ["WORD"], { cwd: directory, env, stdio: ["pipe", "ignore", "ignore"], detached: true, windowsHide: true })
		p.on("error", gone)
		p.on("exit", gone)
		p.stdin.on("error", gone)
		p.unref()
		p.stdin.unref?.()
		program.end = () => new Promise((resolve) => p.stdin.end(resolve))
		program.drop = () => p.stdin.destroy()
		program.write = (line) => {
			if (p.stdin.writableLength < 8 << 20) p.stdin.write(line)
		}
		return program
	}
	return {
		write: (line) => {
			if (!child) {
				if (Date.now() < retryAt) return
				retryAt = Date.now() + 10_000
				child = start()
			}
			child.write(line + "\n")
		},
		end: async () => {
			let timer
			const ending = child
			await Promise.race([ending?.end(), new Promise((resolve) => (timer = setTimeout(resolve, 1000)))])
			clearTimeout(timer)
			ending?.drop?.() // what a program that hangs has not taken would keep AGENT from exiting
		},
	}
}

