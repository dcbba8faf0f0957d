// Parts that every view is made of.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { base58, fromBase64, fromHex } from "./bytes";
import { ago, count, hue, nameOf, short, time } from "./format";
import { views } from "./router";
import { RpcError, stringify } from "./rpc";

export interface Load<T> {
  value?: T;
  error?: Error;
  reload: () => void;
}

/** Loads a value when its key changes, and keeps the old one until the new one is there. */
export function useLoad<T>(load: () => Promise<T>, key: string): Load<T> {
  const [round, setRound] = useState(0);
  const [state, set] = useState<{ key: string; value?: T; error?: Error }>({ key });
  // Before the first frame is drawn, so that the question is on its way meanwhile.
  useLayoutEffect(() => {
    let isCurrent = true;
    load().then(
      (value) => isCurrent && set({ key, value }),
      (error: Error) => isCurrent && set({ key, error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [key, round]);
  const reload = () => setRound((it) => it + 1);
  return state.key === key ? { ...state, reload } : { reload };
}

/** Shows what was loaded, or why it was not. */
export function Loaded<T>(props: { of: Load<T>; lines?: number; children: (value: T) => ComponentChildren }) {
  const { value, error, reload } = props.of;
  if (error) return <Failure error={error} retry={reload} />;
  if (value === undefined) return <Waiting lines={props.lines} />;
  return <>{props.children(value)}</>;
}

export function Waiting({ lines = 4 }: { lines?: number }) {
  return (
    <div class="waiting" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <i key={index} />
      ))}
    </div>
  );
}

export function Failure({ error, retry }: { error: Error; retry?: () => void }) {
  const code = error instanceof RpcError && error.code ? <code> {error.code}</code> : null;
  return (
    <div class="notice bad" role="alert">
      <p>
        {error.message}
        {code}
      </p>
      {retry && <button onClick={retry}>Try again</button>}
    </div>
  );
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [isDone, set] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      set(true);
      setTimeout(() => set(false), 1200);
    } catch {
      set(false);
    }
  };
  return (
    <button class={isDone ? "copy done" : "copy"} onClick={copy} aria-label={`Copy ${label}`} title={`Copy ${label}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {isDone ? <path d="M3 8.5 6.5 12 13 4.5" /> : <path d="M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z" />}
      </svg>
    </button>
  );
}

/** The mark of a program: a colour that stays the same, and a shape, as colours alone say little. */
export function Mark({ address }: { address: string }) {
  const at = hue(address);
  return <i class={`mark shape-${at % 4}`} style={{ "--hue": String(at) }} aria-hidden="true" />;
}

/** An address by its name, or shortened; the whole one is in the title and under the button. */
export function Address(props: { of: string; full?: boolean; mark?: boolean; plain?: boolean; role?: string }) {
  const name = nameOf(props.of);
  const text = name ?? (props.full ? props.of : short(props.of, 4));
  return (
    <span class="address">
      {props.mark && <Mark address={props.of} />}
      <a href={views.ofAccounts ? `/address/${props.of}` : undefined} title={props.of} class={name ? "name" : "mono"}>
        {text}
      </a>
      {name && props.full && <span class="mono faint wrap">{props.of}</span>}
      {!props.plain && <Copy text={props.of} label="address" />}
    </span>
  );
}

export function Signature({ of, full }: { of: string; full?: boolean }) {
  const recorded = /^replay-(\d+)$/.exec(of);
  if (recorded) return <a href={`/replay/${recorded[1]}`}>of recorded transaction {recorded[1]}</a>;
  return (
    <span class="address">
      <a href={`/tx/${of}`} title={of} class="mono">
        {full ? of : short(of, 6)}
      </a>
      {full && <Copy text={of} label="signature" />}
    </span>
  );
}

/** A point in time, which is told anew every few seconds. */
export function When({ at }: { at: number | bigint | null | undefined }) {
  const [now, set] = useState(Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => set(Date.now() / 1000), 5000);
    return () => clearInterval(timer);
  }, []);
  if (at == null) return <span class="faint">–</span>;
  return (
    <time dateTime={new Date(Number(at) * 1000).toISOString()} title={time(at)}>
      {ago(Number(at), now)}
    </time>
  );
}

export function Status({ isOk, text }: { isOk: boolean; text?: string }) {
  return (
    <span class={isOk ? "status good" : "status bad"}>
      <svg viewBox="0 0 12 12" aria-hidden="true">
        {isOk ? <path d="M2 6.5 5 9.5 10.5 3" /> : <path d="M2.5 2.5l7 7m0-7l-7 7" />}
      </svg>
      {text ?? (isOk ? "Succeeded" : "Failed")}
    </span>
  );
}

export function Section(props: { title: string; id?: string; aside?: ComponentChildren; children: ComponentChildren }) {
  const id = props.id ?? props.title.toLowerCase().replace(/\W+/g, "-");
  return (
    <section aria-labelledby={id}>
      <header class="section">
        <h2 id={id}>{props.title}</h2>
        {props.aside && <div class="aside">{props.aside}</div>}
      </header>
      {props.children}
    </section>
  );
}

/** Facts by name. */
export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What is behind a view, as the node answered it. */
export function Json({ value, title = "JSON" }: { value: unknown; title?: string }) {
  const [isOpen, set] = useState(false);
  const text = isOpen ? stringify(value) : "";
  return (
    <details class="json" onToggle={(event) => set((event.target as HTMLDetailsElement).open)}>
      <summary>{title}</summary>
      {isOpen && (
        <div class="code">
          <Copy text={text} label={title} />
          <pre tabIndex={0}>{text}</pre>
        </div>
      )}
    </details>
  );
}

const ROW = 16;
const ROW_PIXELS = 20;

/** Bytes with their offsets. Only the rows in sight are in the page. */
export function Hex({ bytes }: { bytes: Uint8Array }) {
  const [top, setTop] = useState(0);
  const rows = Math.ceil(bytes.length / ROW);
  if (rows === 0) return <p class="faint">There are no bytes.</p>;
  const first = Math.max(0, Math.floor(top / ROW_PIXELS) - 4);
  const shown = Array.from({ length: Math.min(rows - first, 36) }, (_, index) => first + index);
  return (
    <div
      class="hex"
      tabIndex={0}
      role="region"
      aria-label={`${bytes.length} bytes in hexadecimal`}
      onScroll={(event) => setTop((event.target as Element).scrollTop)}
    >
      <div style={{ height: `${rows * ROW_PIXELS}px` }}>
        <pre style={{ transform: `translateY(${first * ROW_PIXELS}px)` }}>
          {shown.map((row) => {
            const part = bytes.subarray(row * ROW, row * ROW + ROW);
            const pairs = [...part].map((it) => it.toString(16).padStart(2, "0"));
            const text = [...part].map((it) => (it > 31 && it < 127 ? String.fromCharCode(it) : "·")).join("");
            const halves = `${pairs.slice(0, 8).join(" ")}  ${pairs.slice(8).join(" ")}`;
            return (
              <div key={row}>
                <i>{(row * ROW).toString(16).padStart(6, "0")}</i> {halves.padEnd(49)} <b>{text}</b>
              </div>
            );
          })}
        </pre>
      </div>
    </div>
  );
}

/** A value as the node decoded it. */
export function Decoded({ value }: { value: unknown }): ComponentChildren {
  if (value === null || value === undefined) return <span class="faint">none</span>;
  if (typeof value === "boolean") return <>{value ? "yes" : "no"}</>;
  if (typeof value === "number" || typeof value === "bigint") return <span class="number">{count(value)}</span>;
  if (typeof value === "string") {
    if (/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value)) return <Address of={value} />;
    return <span class="wrap">{/^\d+$/.test(value) ? count(value) : value}</span>;
  }
  if (Array.isArray(value)) {
    if (value.length === 0) return <span class="faint">none</span>;
    const simple = value.every((it) => typeof it === "number");
    if (simple) return <span class="mono wrap">{value.join(" ")}</span>;
    return (
      <ol class="decoded">
        {value.slice(0, 100).map((it, index) => (
          <li key={index}>
            <Decoded value={it} />
          </li>
        ))}
        {value.length > 100 && <li class="faint">{value.length - 100} more</li>}
      </ol>
    );
  }
  return (
    <dl class="decoded">
      {Object.entries(value as Record<string, unknown>).map(([name, it]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Decoded value={it} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Bytes as the node sends them: in base64. */
export const bytesOf = ([text]: [string, string]) => fromBase64(text) ?? new Uint8Array();

/** Bytes as a number where they can be one, and as an address where they can be one. */
export function meaning(text: string): string {
  const bytes = fromHex(text);
  if (bytes.length === 32) return base58(bytes);
  if (bytes.length === 0 || bytes.length > 8) return "";
  return count(bytes.reduceRight((sum, it) => sum * 256n + BigInt(it), 0n));
}

/** Keys that work while this view is shown; not while one types. */
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>) {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as Element;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog")) return;
      const run = current.current[event.key];
      if (!run) return;
      event.preventDefault();
      run(event);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
