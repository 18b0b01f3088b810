// What the tools of Cline's SDK take of inputs: by the schemas and the handlers in the program
// of CLI 3, which has them as text, and zod. Reads lines {tool, input} and writes for each
// the operations, or null for an input that is refused.
//
//	node takes.js PROGRAM ZOD < inputs
"use strict";
const fs = require("node:fs");
const { z } = require(process.argv[3]);

const program = fs.readFileSync(process.argv[2]);
const at = program.indexOf('.string().describe("The absolute path of a text file to read content from")');
if (at < 0) throw new Error("the schemas are not where they were");
const text = program.subarray(at - 200, at + 60000).toString("utf8");
const between = (from, to) => {
  const begin = text.search(from);
  const end = begin + text.slice(begin).search(to);
  if (begin < 0 || end < begin) throw new Error(`no ${from} to ${to}`);
  return text.slice(begin, end);
};
const name = (pattern) => {
  const m = text.match(pattern);
  if (!m) throw new Error(`no ${pattern}`);
  return m[1];
};
const zod = name(/=6000,\w+=(\w+)\.string\(\)/);
const read = text.match(/let (\w+)=(\w+)\((\w+),(\w+)\((\w+)\)\),(\w+);if\(typeof/);
const search = text.match(/execute:async\((\w+),\w+\)=>\{let (\w+)=\w+\((\w+),\1\),(\w+)=Array\.isArray\(\2\)\?/);
const editor = name(/(\w+)=\w+\.object\(\{path:\w+\.string\(\)\.min\(1\)\.describe\("The absolute path for/);
const source = [
  between(/var \w+=6000,/, /;import\{/), ";",
  between(/var \w+=new Set\(\["start_line","end_line"\]\)/, /function \w+\(Z\)\{if\(typeof Z==="string"\)return Z;let Q=Z\.args/), ";",
  between(/function \w+\(Z\)\{let Q=Z\.match\(\/\(\?<!\[<\]\)<</, /async function/), ";",
  `return {
    run_commands: (input) => ${name(/let [\w$]+=(\w+)\(\w+\([\w$]+\)\);return \w+\([\w$]+,\{executor:/)}(${name(/let [\w$]+=\w+\((\w+)\([\w$]+\)\);return \w+\([\w$]+,\{executor:/)}(input)),
    read_files: (${read[5]}) => { ${between(/let \w+=\w+\(\w+,\w+\(\w+\)\),\w+;if\(typeof/, /return Promise\.all/)} return ${read[6]}; },
    search_codebase: (${search[1]}) => { ${between(new RegExp(`let ${search[2]}=\\w+\\(${search[3]},${search[1]}\\)`), /return Promise\.all/)} return ${search[4]}; },
    editor: (input) => [${read[2]}(${editor}, input)],
  };`,
].join("");
const validate = (schema, input) => {
  const result = schema.safeParse(input);
  if (!result.success) throw new Error("refused");
  return result.data;
};
const handlers = new Function(zod, read[2], source)(z, validate);

for (const line of fs.readFileSync(0, "utf8").split("\n")) {
  if (!line) continue;
  const { tool, input } = JSON.parse(line);
  let out = null;
  try {
    out = handlers[tool](input);
  } catch (err) {
    if (err.message !== "refused") throw err;
  }
  console.log(JSON.stringify(out));
}
