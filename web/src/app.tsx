// The frame around the views: navigation, search, the node's state, and keys.

import { useEffect, useRef, useState } from "preact/hooks";
import { AccountView } from "./account";
import { BlockView, Blocks } from "./blocks";
import { Controls } from "./controls";
import { DebugView } from "./debug";
import { FlameView } from "./flame";
import { count, learnName } from "./format";
import { Inspector } from "./inspector";
import { Live } from "./live";
import { type Recorded, Replays, ReplayView } from "./replays";
import { followLinks, go, placeOf, usePath } from "./router";
import { rpc, watchConnection, watchSlot } from "./rpc";
import { toggleTheme } from "./theme";
import { TransactionView } from "./transaction";
import { CoverageView } from "./usage";
import { useKeys } from "./ui";

const VIEWS = [
  ["/", "Transactions", "1"],
  ["/blocks", "Blocks", "2"],
  ["/inspector", "Inspector", "3"],
  ["/controls", "Controls", "4"],
] as const;

const KEYS: [string, string][] = [
  ["/", "Search for a signature, an address or a slot"],
  ["1 – 4", "Transactions, blocks, inspector, controls"],
  ["j  k", "Next, previous row"],
  ["Enter", "Open the row"],
  ["p", "Pause the live list, or follow it again"],
  ["f", "Filter the live list"],
  ["e", "Only failed transactions"],
  ["x", "Open or close all calls of a transaction"],
  ["[  ]", "Previous, next block"],
  ["s  n  o", "Steps: in, over, out; with Shift back"],
  ["c  !", "Steps: to the next syscall, to the failure"],
  ["u  g", "Steps: by own line, line or instruction; go to a step"],
  ["a  z", "Flame graph: own or all code, show everything"],
  ["t", "Light or dark"],
  ["?", "These keys"],
];

export function App() {
  const path = usePath();
  const search = useRef<HTMLInputElement>(null);
  const help = useRef<HTMLDialogElement>(null);
  const node = useNode();
  useEffect(() => {
    document.addEventListener("click", followLinks);
    return () => document.removeEventListener("click", followLinks);
  }, []);
  useKeys({
    "/": () => search.current?.focus(),
    "?": () => help.current?.showModal(),
    t: toggleTheme,
    j: () => step(1),
    k: () => step(-1),
    ...Object.fromEntries(VIEWS.map(([at, , key]) => [key, () => go(at)])),
  });
  const view = viewOf(path.split("?")[0], node.opened);
  const views = node.opened ? ([["/", "Recorded transactions", "1"]] as const) : VIEWS;
  useEffect(() => {
    document.title = `${view.title} · Selkie`;
  }, [view.title]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/" aria-label="Selkie, the newest transactions">
          <img src="/assets/icon.svg" alt="" width="24" height="24" />
          <b>Selkie</b>
        </a>
        <nav aria-label="Views">
          {views.map(([at, name]) => (
            <a key={at} href={at} aria-current={view.nav === at ? "page" : undefined}>
              {name}
            </a>
          ))}
        </nav>
        {!node.opened && <Search input={search} />}
        <div class="node">
          <span hidden={!!node.opened && node.isOpen} class={node.isOpen ? "state" : "state lost"} role="status">
            <i aria-hidden="true" />
            {node.isOpen ? (
              <>
                slot <b class="number">{node.slot === undefined ? "–" : count(node.slot)}</b>
              </>
            ) : (
              "no connection"
            )}
          </span>
          <button class="icon" onClick={toggleTheme} aria-label="Light or dark" title="Light or dark (t)">
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <circle cx="8" cy="8" r="5.5" />
              <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" class="fill" />
            </svg>
          </button>
          <button class="icon" onClick={() => help.current?.showModal()} aria-label="Keys" title="Keys (?)">
            ?
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {view.content}
      </main>
      <dialog ref={help} aria-labelledby="keys" onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}>
        <form method="dialog">
          <h2 id="keys">Keys</h2>
          <dl class="keys">
            {KEYS.map(([key, about]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{about}</dd>
              </div>
            ))}
          </dl>
          <button onClick={() => help.current?.close()} type="button">
            Close
          </button>
        </form>
      </dialog>
    </>
  );
}

function viewOf(path: string, opened: Recorded[] | null | undefined) {
  const [, kind, name = ""] = path.split("/");
  const wanted = safely(name);
  if (kind === "tx") return { nav: "/", title: "Transaction", content: <TransactionView key={wanted} signature={wanted} /> };
  if (kind === "debug") return { nav: "/", title: "Steps", content: <DebugView key={wanted} signature={wanted} /> };
  if (kind === "flame") return { nav: "/", title: "Compute units", content: <FlameView key={wanted} signature={wanted} /> };
  if (kind === "address") return { nav: "", title: "Account", content: <AccountView key={wanted} address={wanted} /> };
  if (kind === "block") return { nav: "/blocks", title: `Block ${wanted}`, content: <BlockView key={wanted} slot={Number(wanted)} /> };
  if (kind === "blocks") return { nav: "/blocks", title: "Blocks", content: <Blocks /> };
  if (kind === "inspector") return { nav: "/inspector", title: "Inspector", content: <Inspector /> };
  if (kind === "controls") return { nav: "/controls", title: "Controls", content: <Controls /> };
  if (kind === "replay" && opened) return { nav: "/", title: "Transaction", content: <ReplayView key={wanted} number={Number(wanted)} all={opened} /> };
  if (kind === "replay" && opened === undefined) return { nav: "/", title: "Transaction", content: <h1>Transaction</h1> };
  if (kind === "coverage") return { nav: "/", title: "Coverage", content: <CoverageView /> };
  if (kind === "" && opened) return { nav: "/", title: "Recorded transactions", content: <Replays all={opened} /> };
  if (kind === "") return { nav: "/", title: "Transactions", content: <Live /> };
  const content = (
    <div class="empty">
      <h1>There is no such page</h1>
      <p>
        <a href="/">The newest transactions</a>
      </p>
    </div>
  );
  return { nav: "", title: "Not found", content };
}

function safely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function Search({ input }: { input: { current: HTMLInputElement | null } }) {
  const [isUnknown, set] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    const place = placeOf(input.current!.value);
    set(!place);
    if (!place) return;
    input.current!.value = "";
    input.current!.blur();
    go(place);
  };
  return (
    <form class="search" role="search" onSubmit={submit}>
      <input
        ref={input}
        aria-label="Signature, address or slot"
        placeholder="Signature, address or slot"
        aria-invalid={isUnknown}
        aria-describedby="search-hint"
        spellcheck={false}
        autocomplete="off"
        onInput={() => set(false)}
        onKeyDown={(event) => event.key === "Escape" && input.current?.blur()}
      />
      <kbd aria-hidden="true">/</kbd>
      <span id="search-hint" class="hint" role="status">
        {isUnknown ? "This is neither a signature, an address nor a slot." : ""}
      </span>
    </form>
  );
}

function useNode() {
  const [isOpen, setOpen] = useState(true);
  const [slot, setSlot] = useState<number>();
  // What `selkie inspect` has opened; a node has nothing opened.
  const [opened, setOpened] = useState<Recorded[] | null>();
  useEffect(() => {
    rpc<Recorded[] | null>("selkie_listReplays").then(setOpened, () => setOpened(null));
    rpc<{ faucet: string; identity: string }>("selkie_nodeInfo").then(
      (info) => {
        learnName(info.faucet, "Faucet");
        learnName(info.identity, "Node identity");
      },
      // Cheatcodes may be closed to this page: the names are missing then.
      () => {},
    );
    const ends = [watchConnection(setOpen), watchSlot(setSlot)];
    return () => ends.forEach((end) => end());
  }, []);
  return { isOpen, slot, opened };
}

/** Moves the focus to the next row of the view's list. */
function step(by: number) {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.focus();
}
