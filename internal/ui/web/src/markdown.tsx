import { h, type ComponentChildren } from "preact";
import { Copy, Diff } from "./parts";
import type { Doc } from "./types";

const tags = new Set(["p", "h2", "ul", "ol", "li", "blockquote", "hr", "table", "tr", "th", "td", "strong", "em", "del", "code"]);
const textOf = (n: Doc): string => (typeof n === "string" ? n : (n.kids ?? []).map(textOf).join(""));

// Prose is a text that people or the model wrote. What the server read in it becomes elements: of no other tags,
// with no attributes of the text's.
export const Prose = ({ text, doc }: { text: string; doc?: Doc[] }) => (doc ? <div class="prose md">{doc.map(draw)}</div> : <div class="prose">{text}</div>);

function draw(n: Doc, key: number): ComponentChildren {
  if (typeof n === "string") return n;
  const { tag, info = "" } = n;
  if (tag === "pre") return <Code key={key} lang={info} text={textOf(n)} />;
  const kids = n.kids?.map(draw);
  if (tag === "a" && /^https?:\/\//.test(info)) {
    const shown = textOf(n);
    return <span key={key}><a class="plain" href={info} rel="noreferrer noopener" target="_blank">{shown.trim() ? kids : info}</a>{shown.trim() && shown !== info && shown + "/" !== info ? <span class="dim target" title={info}> {info.length > 120 ? info.slice(0, 120) + "…" : info}</span> : ""}</span>;
  }
  if (tag === "table") return <div class="scroller" key={key} tabIndex={0}><table>{kids}</table></div>;
  return tags.has(tag) ? h(tag, { key, class: tag === "h2" ? "level" + info : undefined, start: tag === "ol" ? Number(info) : undefined }, kids) : <span key={key}>{kids}</span>;
}

// Code is a block of code, with what its language is and a button that copies it.
function Code({ lang, text }: { lang: string; text: string }) {
  const code = text.replace(/\n$/, "");
  return (
    <div class="code-block">
      <div class="cap">{lang || "code"}<Copy text={code} /></div>
      {/^(diff|patch)\b/.test(lang) ? <Diff lines={code.split("\n")} /> : <pre tabIndex={0}>{code}</pre>}
    </div>
  );
}
