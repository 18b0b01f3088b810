// Counts the tokens of files by three tokenizers: o200k_base and cl100k_base, and Anthropic's.
//   npm install --no-save gpt-tokenizer @anthropic-ai/tokenizer && node tokens.mjs tools.json
import { readFileSync } from "node:fs"
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base"
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base"
import { countTokens as anthropic } from "@anthropic-ai/tokenizer"

for (const file of process.argv.slice(2)) {
	const text = readFileSync(file, "utf8").trim()
	console.log(file, o200k(text), cl100k(text), anthropic(text))
}
