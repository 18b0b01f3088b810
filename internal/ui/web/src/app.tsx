import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { follow, takeToken, useData, useLive } from "./api";
import { HooksView } from "./hooks";
import { help, keysOn, switchKeys, useKeys } from "./keys";
import { Palette } from "./palette";
import { agentNames, Link, Sheet } from "./parts";
import { decoded, go, useRoute, useSheet } from "./route";
import { SessionsView } from "./sessions";
import { TraceView } from "./trace";
import { CallsView } from "./work";
import { CompareView, CostView, SearchView, SessionView, StatusView } from "./views";
import { setTitle, setWaits } from "./title";

const themes = ["", "light", "dark"];

function theme(next?: boolean) {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  let t = localStorage.getItem("theme") ?? "";
  if (!themes.includes(t)) t = "";
  if (next) {
    const other = (t || system) === "dark" ? "light" : "dark";
    t = other === system ? "" : other;
    localStorage.setItem("theme", t);
  }
  if (t) document.documentElement.dataset.theme = t; else delete document.documentElement.dataset.theme;
}

const pages: [string, string, string][] = [["/", "Sessions", "s"], ["/search", "Search", "f"], ["/calls", "Calls", "l"], ["/changes", "Changes", "d"], ["/cost", "Cost", "c"], ["/hooks", "Hooks", "h"], ["/status", "Status", "t"]];

function App() {
  const { path } = useRoute();
  const live = useLive();
  const [keys, setKeys] = useSheet("keys");
  const [palette, setPalette] = useSheet("palette");
  useEffect(() => { const f = () => setPalette(true); addEventListener("palette", f); return () => removeEventListener("palette", f); }, []);
  Object.assign(agentNames, useData<Record<string, string>>("agents", 0).data);
  useKeys({
    ...Object.fromEntries(pages.map(([to, , key]) => ["g " + key, () => go(to)])),
    t: () => theme(true), "?": () => setKeys(true), "/": () => go("/search"),
  });
  // Until an agent has hooks, each change may have brought them.
  const wasHooked = useRef(false);
  const hooked = useData<{ hooked?: string[] }>("about", wasHooked.current ? 0 : undefined).data?.hooked;
  wasHooked.current = !!hooked?.length;
  const { data: waiting } = useData<string[]>("waiting");
  useEffect(() => { if (path === "/") setTitle("hookspan"); }, [path]);
  useEffect(() => setWaits(!!waiting?.length), [!waiting?.length]);
  const [, first, rest] = /^\/([^/]*)(?:\/(.*))?$/.exec(path) ?? [];
  const id = decoded(rest ?? ""), ofOne = first === "t" || first === "s";
  return (
    <div class={"app at-" + (first || "sessions")}>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.querySelector<HTMLElement>("#main")?.focus(); }}>Skip to the content</a>
      <header class="top">
        <Link to="/" class="brand" label="hookspan, all sessions"><svg viewBox="0 0 32 32" aria-hidden="true"><rect class="b1" x="2" y="6" width="24" height="5" rx="2.5" /><rect class="b2" x="7" y="13.5" width="13" height="5" rx="2.5" /><rect class="b3" x="16" y="21" width="13" height="5" rx="2.5" /></svg><span>hookspan</span></Link>
        <nav aria-label="Views">{pages.map(([to, name]) => <Link key={to} to={to} class={to === "/" ? undefined : to === "/search" || to === "/cost" ? "few" : "rest"} current={path === to || (to === "/" && ofOne)}>{name}</Link>)}<button class="others" onClick={() => setPalette(true)}>More</button></nav>
        {!!waiting?.length && <Link to={waiting.length === 1 ? "/t/" + waiting[0] : "/"} class="waits">{waiting.length > 1 ? waiting.length + " tasks wait for you" : "waits for you"}</Link>}
        {live && hooked?.length === 0 ? <Link to="/status" class="live" title="No agent has hookspan's hooks, so nothing new is recorded: run hookspan install">no hooks</Link>
          : <span class={"live" + (live ? " on" : "")} title={live ? "New traces appear by themselves" : "Not connected"}>{live ? "live" : "offline"}</span>}
        <button class="icon" aria-label="Go to" title="Go to a session, task, file or view (Ctrl-K)" onClick={() => setPalette(true)}><svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="7" cy="7" r="4.2" fill="none" stroke="currentColor" stroke-width="1.5" /><path d="M10.2 10.2 14 14" stroke="currentColor" stroke-width="1.5" /></svg></button>
        <button class="icon" aria-label="Light or dark" title="Light or dark (t)" onClick={() => theme(true)}><svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" stroke-width="1.5" /><path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" /></svg></button>
        <button class="icon" aria-label="Keys" title="Keys (?)" onClick={() => setKeys(true)}>?</button>
      </header>
      <main id="main" tabIndex={-1}>
        {id === undefined || ofOne !== !!rest ? <NoPage /> : first === "" || first === "open" ? <SessionsView /> : first === "t" ? <TraceView key={id} id={id} /> : first === "s" ? <SessionView key={id} id={id} /> : first === "search" ? <SearchView />
          : first === "calls" || first === "changes" ? <CallsView key={first} edits={first === "changes"} /> : first === "cost" ? <CostView /> : first === "compare" ? <CompareView /> : first === "hooks" ? <HooksView /> : first === "status" ? <StatusView />
          : <NoPage />}
      </main>
      {palette && <Palette close={() => setPalette(false)} commands={[...pages.map(([to, name]) => ["view", name, () => go(to)] as [string, string, () => void]), ["view", "Compare", () => go("/compare")], ["command", "Light or dark", () => theme(true)], ["command", "Keys", () => setKeys(true)]]} />}
      {keys && <KeysDialog close={() => setKeys(false)} />}
      <Said />
    </div>
  );
}

const NoPage = () => <div class="empty"><h1>There is no such page</h1><p><Link to="/" class="plain">All sessions</Link></p></div>;

function KeysDialog({ close }: { close: () => void }) {
  const [on, set] = useState(keysOn());
  useKeys({ Escape: close, "?": close });
  return (
    <Sheet class="keys" label="Keys" close={close}>
      <button class="close" aria-label="Close" onClick={close}>×</button>
      <h2>Keys</h2>
      <div class="key-groups">
        {help.map(([name, list]) => (
          <section key={name}><h3>{name}</h3><dl>{list.map(([k, what]) => <div key={k}><dt>{(k.startsWith("g ") ? [k] : k.split(" ")).map((x) => <kbd key={x}>{x}</kbd>)}</dt><dd>{what}</dd></div>)}</dl></section>
        ))}
      </div>
      <label><input type="checkbox" checked={on} onChange={(e) => { switchKeys(e.currentTarget.checked); set(e.currentTarget.checked); }} /> Keys are on</label>
    </Sheet>
  );
}

function Said() {
  const [text, set] = useState("");
  useEffect(() => {
    let timer = 0;
    const f = (e: Event) => { set((e as CustomEvent<string>).detail); clearTimeout(timer); timer = window.setTimeout(() => set(""), 2500); };
    addEventListener("say", f);
    return () => removeEventListener("say", f);
  }, []);
  return <p class={"said-note" + (text ? " on" : "")} role="status">{text}</p>;
}

theme();
takeToken();
follow();
render(<App />, document.getElementById("app")!);
