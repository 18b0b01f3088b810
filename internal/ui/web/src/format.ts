// Texts for people. Durations and tokens read as in the terminal.

import type { Summary } from "./types";

export function duration(ns: number): string {
  if (ns < 0) return "-" + duration(-ns);
  const ms = ns / 1e6;
  if (ms > 0 && ms < 1) return "<1ms";
  if (ms < 1000) return Math.floor(ms) + "ms";
  const s = ms / 1000;
  if (s < 10) return (Math.floor(s * 10) / 10).toFixed(1) + "s";
  if (s < 60) return Math.floor(s) + "s";
  const m = Math.floor(s / 60);
  if (m < 60) return m + "m" + pad(Math.floor(s % 60)) + "s";
  const h = Math.floor(m / 60);
  if (h < 24) return h + "h" + pad(m % 60) + "m";
  return Math.floor(h / 24) + "d" + pad(h % 24) + "h";
}

const pad = (n: number) => String(n).padStart(2, "0");

export function tokens(n: number): string {
  if (n < 0) return "0";
  if (n < 1000) return String(n);
  if (n < 99_950) return (n / 1e3).toFixed(1) + "k";
  if (n < 999_500) return (n / 1e3).toFixed(0) + "k";
  return (n / 1e6).toFixed(1) + "M";
}

const dollar = 0.99995; // with four decimals
export const dollars = (usd: number) => "$" + usd.toFixed(Math.abs(usd) >= dollar ? 2 : 4);

// dollarsIn is dollars for a column: if one of its costs has two decimals all have.
export function dollarsIn(column: (number | undefined)[]): (usd: number) => string {
  if (!column.some((usd) => usd !== undefined && usd >= dollar)) return dollars;
  return (usd) => (usd > 0 && usd < 0.005 ? "<$0.01" : "$" + usd.toFixed(2));
}

// tenths rounds as the terminal does: a half to the even digit.
export function tenths(n: number): string {
  const r = Math.round(n * 10);
  return ((r - n * 10 === 0.5 && r % 2 ? r - 1 : r) / 10).toFixed(1);
}

export const plural = (n: number, thing: string) => n.toLocaleString("en") + " " + thing + (n === 1 ? "" : "s");

const day = (t: Date) => new Date(t.getFullYear(), t.getMonth(), t.getDate()).getTime();

// dayName names the day of a time: today, yesterday, or its date.
export function dayName(iso: string | undefined): string {
  if (!iso) return "No time";
  const t = new Date(iso), now = new Date();
  const days = Math.round((day(now) - day(t)) / 864e5);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return t.toLocaleDateString("en-GB", {
    weekday: days > 0 && days < 7 ? "long" : undefined, day: "numeric", month: "long",
    year: t.getFullYear() === now.getFullYear() ? undefined : "numeric",
  });
}

export const clock = (iso: string | undefined) =>
  iso ? new Date(iso).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" }) : "";

export const dayOnly = (iso: string | undefined) => (iso ? new Date(iso).toLocaleDateString("en-GB", { day: "numeric", month: "short" }) : "");

export const stamp = (iso: string | undefined) =>
  iso ? new Date(iso).toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" }) : "";

export function ago(iso: string | undefined): string {
  if (!iso) return "never";
  const s = (Date.now() - new Date(iso).getTime()) / 1000;
  if (s < 60) return "just now";
  if (s < 3600) return Math.floor(s / 60) + " min ago";
  if (s < 86400) return Math.floor(s / 3600) + " h ago";
  return dayName(iso).toLowerCase().replace(/^[a-z]+day /, "") + ", " + clock(iso);
}

// seen shows characters that reorder or hide text by their number, as the server does.
export const seen = (text: string) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => "⟨U+" + c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0") + "⟩");

// fold is a text in lower case and without accents, with the place of each of its characters.
export function fold(text: string): { text: string; at: number[] } {
  let out = "", i = 0;
  const at: number[] = [];
  for (const c of text) {
    const f = c.normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "");
    for (let k = 0; k < f.length; k++) at.push(i);
    out += f;
    i += c.length;
  }
  at.push(i);
  return { text: out, at };
}

// placesOf returns where the words of a search are in a text, as the search finds them: without accents.
export function placesOf(text: string, find: string): [number, number][] {
  const folded = fold(text), words = fold(find).text.match(/[\p{L}\p{N}]+/gu);
  return words ? [...folded.text.matchAll(new RegExp(words.join("|"), "gu"))].map((m) => [folded.at[m.index], folded.at[m.index + m[0].length]]) : [];
}

// foldersOf are the folders of a task's workspace, that with most calls first.
export const foldersOf = (s: Summary) => [s.workingDirectory, ...(s.workspaceFolders ?? []).filter((dir) => dir !== s.workingDirectory)];

// place is a folder's name with the one above it.
export function place(path: string | undefined): string {
  if (!path) return "";
  return path.replace(/[\\/]+$/, "").split(/[\\/]/).slice(-1)[0] || path;
}
