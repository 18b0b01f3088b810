// What the API returns.

export type Status = "" | "info" | "ok" | "failed" | "denied" | "unfinished" | "unknown" | "running";
export type Kind = "run" | "agent" | "tool" | "chat" | "span" | "event" | "no root";

export interface Usage { inputTokens: number; outputTokens: number; cacheReadTokens: number; cacheWriteTokens: number; costUsd?: number }

export interface Summary {
  traceId: string; host?: string; session?: string; title?: string; model?: string; workingDirectory?: string; workspaceFolders?: string[]; outcome?: string; evidence?: string; missing?: string;
  parts: number; started?: string; ended?: string; spans: number; tools: number; toolFailures: number; toolDenials: number; toolsUnknown?: number;
  usage?: Usage; durationMs: number; waitedNs?: number; waiting?: boolean;
}

// Listed has the names of its projects and session as they are sent back, too.
export interface Listed { summary: Summary; status: Status; bad?: boolean; reason?: string; match?: { traceId: string; spanId: string; snippet: string }; project?: string; otherProjects?: string[]; session?: string }

export interface Totals {
  tasks: number; toolCalls: number; toolFailures: number; toolDenials: number; tookNs: number; waitedNs?: number; usage?: Usage; ofModelUsage?: Usage; unpricedModels?: string[];
}

export interface Group extends Totals { key: string; value: string; p50Ns: number; p95Ns: number; medianCostUsd?: number; dearestCostUsd?: number; until?: string; lastTraceId?: string; editsDenied?: number; branches?: string[]; repository?: string; addedTokens?: number; usedPercent?: number }

export interface Sessions { running: Listed[]; traces: Listed[]; totals: Totals }
export interface Facet { value: string; shown: string }
export interface Facets { project: Facet[]; agent: Facet[]; model: Facet[]; tool: Facet[] }
export interface Problem { row: number; id: string; label: string; detail?: string; kind?: string; message?: string; status: Status; by?: string }

export interface Header extends Listed {
  rows: number; version: number; prompt?: string; answer?: string; doc?: Doc[]; problems: Problem[]; before?: string; after?: string; task?: number; tasks?: number; resume?: string;
}

// Columns are the rows as the API has them: lists of numbers in base64.
export interface Columns {
  version: number; labels: string[]; kinds: Kind[]; statuses: Status[]; bad: boolean[]; unit: number; id: string; depth: string; label: string; kind: string; status: string;
  at: string; took: string; cost: Record<string, number>; waits: Record<string, [number, number]>;
}

export interface Line { id: string; text: string; note?: string }
export interface Part { name: string; lang?: string; prose?: boolean; short?: boolean; text: string; doc?: Doc[] }
// Doc is a part of a text that was Markdown: words, or an element.
export type Doc = string | { tag: string; info?: string; kids?: Doc[] };

export interface Row {
  row: number; id: string; kind: Kind; status: Status; label: string; details: string[] | null; started?: string; tookNs: number; ended: boolean;
  problem?: Problem; usage?: Usage; model?: string; parts: Part[]; number?: number; source?: string; fields: { Name: string; Text: string }[];
}

export interface Said { row: number; id: string; who: string; status?: Status; bad?: boolean; label?: string; detail?: string; depth: number; tookNs?: number; parts: Part[] }
export interface Change { row: number; id: string; path: string; tool: string; status: Status; done?: boolean; plus: number; minus: number; lines: string[] | null; cut?: boolean }
export interface Hit { traceId: string; spanId: string; where: string; started?: string; snippet: string; title: string; project?: string; failed: boolean }
export interface Point { at: number; tokens: number; costUsd: number; traceId: string; spanId?: string; compact?: boolean }
export interface Step { id: string; label: string; detail?: string; status: Status; tookNs: number }
export interface Compared extends Header { files: string[] }

export interface Call {
  traceId: string; spanId: string; workingDirectory?: string; tool: string; subagent?: string; status: Status; started?: string; tookNs: number; waitedNs?: number; costUsd?: number;
  what: string; reason?: string; edits?: { Path: string; Lines: string[] }[]; cut?: boolean;
}
export interface CostItem { kind: string; what: string; spanId?: string; tokens: number; costUsd?: number }
