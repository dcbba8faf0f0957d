// A text of assembly: its tokens in colours, what is wrong underlined, and what each line took.

import { useMemo, useRef } from "preact/hooks";
import { count } from "./format";

export interface Place {
  line: number;
  column: number;
  start: number;
  end: number;
}

export interface Diagnostic extends Place {
  isError: boolean;
  message: string;
  label: string;
  notes: string[];
  help: string[];
  fix: (Place & { text: string }) | null;
}

export interface LineOf {
  line: number;
  count: number;
  units: number;
}

const TOKEN = /(?<comment>[;#].*|\/\/.*|\/\*[\s\S]*?\*\/)|(?<text>"(?:[^"\\\n]|\\.)*"?)|(?<label>^[ \t]*[\w.$]+:)|(?<directive>\.[a-z_]\w*)|(?<register>\b[rw](?:10|\d)\b)|(?<number>\b(?:0x[\da-f_]+|\d[\d_]*)\b)|(?<operation>(?<=^[ \t]*)[a-z]\w*)/gim;

function coloured(source: string) {
  const parts: preact.ComponentChildren[] = [];
  let at = 0;
  for (const found of source.matchAll(TOKEN)) {
    const kind = Object.entries(found.groups!).find(([, text]) => text !== undefined)![0];
    parts.push(source.slice(at, found.index), <span class={`token-${kind}`}>{found[0]}</span>);
    at = found.index + found[0].length;
  }
  // A text that ends with a line break has a last, empty line.
  parts.push(source.slice(at), "\n");
  return parts;
}

function underlined(source: string, diagnostics: Diagnostic[]) {
  const parts: preact.ComponentChildren[] = [];
  let at = 0;
  for (const it of diagnostics) {
    const start = Math.max(at, it.start);
    const end = Math.max(start + 1, it.end);
    if (it.start < at) continue;
    const text = source.slice(start, end);
    parts.push(source.slice(at, start), <span class={it.isError ? "error" : "warning"}>{/\S/.test(text) ? text : ` ${text}`}</span>);
    at = end;
  }
  parts.push(source.slice(at), "\n");
  return parts;
}

/** Every line is as high in all layers. */
export const LINE_PIXELS = 20;

export function Editor(props: {
  source: string;
  change: (source: string) => void;
  diagnostics: Diagnostic[];
  lines: LineOf[];
  text: { current: HTMLTextAreaElement | null };
}) {
  const { source } = props;
  const box = useRef<HTMLDivElement>(null);
  const colours = useMemo(() => coloured(source), [source]);
  const rows = source.split("\n").length;
  const taken = new Map(props.lines.map((it) => [it.line, it]));
  const wrong = new Map(props.diagnostics.map((it) => [it.line, it.isError]));
  return (
    <div class="editor" ref={box}>
      <ol class="gutter mono" aria-label="Compute units by line">
        {Array.from({ length: rows }, (_, index) => {
          const it = taken.get(index + 1);
          const state = wrong.get(index + 1);
          return (
            <li key={index} class={state === undefined ? "" : state ? "error" : "warning"} title={it && `executed ${count(it.count)}×, ${count(it.units)} compute units`}>
              <span class="units-of" aria-hidden={!it}>
                {it && (it.units > 1 || it.count > 1) ? count(it.units) : it ? "1" : ""}
              </span>
              <span class="line-number" aria-hidden="true">
                {index + 1}
              </span>
            </li>
          );
        })}
      </ol>
      <div class="layers">
        <pre class="colours" aria-hidden="true">
          {colours}
        </pre>
        <pre class="underlines" aria-hidden="true">
          {underlined(source, props.diagnostics)}
        </pre>
        <textarea
          ref={props.text}
          aria-label="Assembly"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          value={source}
          onInput={(event) => props.change((event.target as HTMLTextAreaElement).value)}
        />
      </div>
    </div>
  );
}

export function Diagnostics(props: { all: Diagnostic[]; go: (place: Place) => void; fix: (place: Place, text: string) => void }) {
  if (props.all.length === 0) return null;
  return (
    <ul class="diagnostics" aria-label="Diagnostics">
      {props.all.slice(0, 50).map((it, index) => (
        <li key={index} class={it.isError ? "error" : "warning"}>
          <button class="link mono" onClick={() => props.go(it)}>
            {it.line}:{it.column}
          </button>
          <div>
            <b>{it.message}</b>
            {it.label && <span class="faint"> {it.label}</span>}
            {it.notes.map((text) => (
              <p key={text}>{text}</p>
            ))}
            {it.help.map((text) => (
              <p key={text}>
                {text}
                {it.fix && text.includes(`\`${it.fix.text}\``) && (
                  <button class="small" onClick={() => props.fix(it.fix!, it.fix!.text)}>
                    Replace
                  </button>
                )}
              </p>
            ))}
          </div>
        </li>
      ))}
      {props.all.length > 50 && <li class="faint">{props.all.length - 50} more</li>}
    </ul>
  );
}
