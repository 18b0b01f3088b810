import { useLayoutEffect, useRef } from "preact/hooks";

// Keys of the views. The view that was drawn last answers first.
export type Keys = Record<string, (e: KeyboardEvent) => void>;

const stack: { current: Keys }[] = [];

export const keysOn = () => localStorage.getItem("keys") !== "off";
export const switchKeys = (on: boolean) => localStorage.setItem("keys", on ? "on" : "off");

const names: Record<string, string> = { ArrowDown: "j", ArrowUp: "k", ArrowLeft: "h", ArrowRight: "l" };
let going = 0; // when g was typed

addEventListener("keydown", (e) => {
  const t = e.target as HTMLElement;
  const field = t.closest("input, select, textarea, [contenteditable]");
  if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") { e.preventDefault(); dispatchEvent(new Event("palette")); return; }
  if (e.key === "Escape" && field && !t.closest("dialog")) { (t as HTMLInputElement).blur(); return; }
  if (field || e.ctrlKey || e.metaKey || e.altKey || (!keysOn() && e.key !== "?" && e.key !== "Escape")) return;
  // Enter and arrows belong to a focused button, link, list or scroller.
  if (e.key === "Enter" && t.closest("a, button, summary")) return;
  if (e.key.startsWith("Arrow") && t.closest("[role=tablist], .menu, dialog, pre")) return;
  let key = names[e.key] ?? e.key;
  if (going && Date.now() - going < 1500) key = "g " + key;
  going = e.key === "g" && !going ? Date.now() : 0;
  if (going) return;
  // Behind an open dialog no view answers.
  const last = document.querySelector("dialog[open]") ? stack.length - 1 : 0;
  for (let i = stack.length - 1; i >= last; i--) {
    const f = stack[i].current[key];
    if (f) { e.preventDefault(); f(e); return; }
  }
});

export function useKeys(keys: Keys) {
  const ref = useRef(keys);
  ref.current = keys;
  // As soon as the view can be seen, its keys work.
  useLayoutEffect(() => {
    stack.push(ref);
    return () => { stack.splice(stack.indexOf(ref), 1); };
  }, []);
}

export const help: [string, [string, string][]][] = [
  ["Move", [["j k", "down, up"], ["h l", "fold, unfold"], ["Enter", "open"], ["e E", "next, previous failure"], ["] [", "next, previous task"]]],
  ["Find", [["/", "search"], ["n N", "next, previous match"]]],
  ["Task", [["1 2 3", "waterfall, conversation, changes"], ["z 0", "zoom to the row, zoom out"], ["f", "follow the newest row"], ["c", "compare with another task"], ["y", "copy the link"]]],
  ["Hooks", [["e E", "next, previous that never runs"], ["/", "which hooks a call starts"], ["Enter", "edit"], ["x", "switch off or on"], ["v", "test"], ["a", "add"]]],
  ["Go", [["g s", "sessions"], ["g f", "search"], ["g l", "calls"], ["g d", "changes"], ["g c", "cost"], ["g h", "hooks"], ["g t", "status"]]],
  ["Page", [["t", "light or dark"], ["Ctrl-K", "go to a session, task, file or view"], ["?", "these keys"], ["Esc", "close, leave a field"]]],
];
