#!/usr/bin/env node
// Runs a program of hookspan for this platform, which is in an optional package beside this
// one: the program that the started script has the name of.
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");
const path = require("node:path");

const name = `@hookspan/${process.platform}-${process.arch}`;
const word = path.basename(require.main.filename, ".js");
const file = process.platform === "win32" ? `${word}.exe` : word;

let program;
try {
  program = require.resolve(`${name}/${file}`);
} catch {
  console.error(`${word}: package ${name}: not installed
hint: hookspan has programs for Linux, macOS and Windows on x64 and arm64; if this is such a machine, install without --omit=optional or --no-optional`);
  process.exit(1);
}

// An interrupt from the terminal reaches hookspan by itself; other signals are passed on.
// They must be caught before hookspan starts: one that ended this process would leave it
// running. What is caught is handled after the whole script has run.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => {
  console.error(`${word}: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
