// What transactions use of programs: functions with compute units, and the lines that were executed.

import { useState } from "preact/hooks";
import { count, counted } from "./format";
import { param, setParam } from "./router";
import { rpc } from "./rpc";
import { type Load, Loaded, Section, useLoad } from "./ui";
import { Virtual } from "./virtual";

interface File {
  path: string;
  /** The lines that have instructions, with how often control came to them. */
  hits: [number, number][];
  /** The lines one of whose branches went one way only. */
  partial: number[];
  lines: [number, number];
  functions: [number, number];
  branches: [number, number];
  text: string[] | null;
}

export interface Usage {
  transactions: number;
  units: number;
  functions: { name: string; own: number; total: number; calls: number; isOwn: boolean }[];
  files: File[];
}

/** Asks what the newest transactions of a program use, or all that were opened. */
export const useUsage = (of: string) => useLoad(() => rpc<Usage>("selkie_programUsage", of), of);

/** The lines of all recorded transactions. */
export function CoverageView() {
  const usage = useUsage("replay-all");
  return (
    <>
      <header class="page">
        <h1>Coverage</h1>
        <nav class="tools" aria-label="Other views">
          <a class="button" href="/flame/replay-all">
            Compute units
          </a>
        </nav>
      </header>
      <Loaded of={usage} lines={10}>
        {(it) => <Lines usage={it} />}
      </Loaded>
    </>
  );
}

/** What the newest transactions use of a program. */
export function ProgramUsage({ usage, stack }: { usage: Load<Usage>; stack: Map<string, number | null> }) {
  return (
    <>
      <Section title="Functions" aside={usage.value && `by ${counted(usage.value.transactions, "newest transaction")}`}>
        <Loaded of={usage} lines={5}>
          {(it) => (it.functions.length > 0 ? <Functions usage={it} stack={stack} /> : <p class="faint">No transaction has called it whose state before it is kept.</p>)}
        </Loaded>
      </Section>
      {usage.value && usage.value.files.length > 0 && (
        <Section title="Coverage">
          <Lines usage={usage.value} />
        </Section>
      )}
    </>
  );
}

const SHOWN = 20;

function Functions({ usage, stack }: { usage: Usage; stack: Map<string, number | null> }) {
  const [isAll, setAll] = useState(false);
  const rows = isAll ? usage.functions : usage.functions.slice(0, SHOWN);
  const most = Math.max(1, ...rows.map((it) => it.own));
  return (
    <>
      <div class="scroll">
        <table class="functions">
          <thead>
            <tr>
              <th>Function</th>
              <th class="right">Compute units of its own</th>
              <th class="right wide">With calls</th>
              <th class="right">Calls</th>
              <th class="right wide">Stack, bytes</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((it) => (
              <tr key={it.name}>
                <td class={it.isOwn ? "mono wrap own" : "mono wrap"}>{it.name}</td>
                <td class="right units">
                  <span class="number">{count(it.own)}</span>
                  <i class="bar" style={{ "--part": String(it.own / most) }} aria-hidden="true" />
                </td>
                <td class="right number wide">{count(it.total)}</td>
                <td class="right number">{it.calls ? count(it.calls) : "inlined"}</td>
                <td class="right number wide">{count(stack.get(it.name))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {usage.functions.length > SHOWN && (
        <button class="after" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? "Fewer" : `All ${count(usage.functions.length)}`}
        </button>
      )}
    </>
  );
}

function share([hit, found]: [number, number]) {
  return found === 0 ? "–" : `${Math.floor((hit * 100) / found)} %`;
}

function Lines({ usage }: { usage: Usage }) {
  const [path, setPath] = useState(param("file"));
  if (usage.files.length === 0) {
    return <p class="notice">No lines are known: the programs have no debug information on this machine. Build them by selkie build.</p>;
  }
  const file = usage.files.find((it) => it.path === path) ?? usage.files[0];
  const short = (it: string) => it.split("/").slice(-3).join("/");
  return (
    <>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>File</th>
              <th class="right">Lines</th>
              <th class="right wide">Functions</th>
              <th class="right">Branches</th>
            </tr>
          </thead>
          <tbody>
            {usage.files.map((it) => (
              <tr key={it.path}>
                <td>
                  <button
                    class="link mono wrap"
                    title={it.path}
                    aria-pressed={it === file}
                    onClick={() => {
                      setPath(it.path);
                      setParam("file", it.path);
                    }}
                  >
                    {short(it.path)}
                  </button>
                </td>
                <td class="right">
                  <span class="number">{share(it.lines)}</span> <span class="faint number">{it.lines.join(" of ")}</span>
                </td>
                <td class="right number wide">{share(it.functions)}</td>
                <td class="right number">{share(it.branches)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Source key={file.path} file={file} />
    </>
  );
}

/** A file with how often each line was executed. Only the lines in sight are in the page. */
function Source({ file }: { file: File }) {
  const hits = new Map(file.hits);
  const partial = new Set(file.partial);
  const rows = file.text ?? [];
  const numbers = file.hits.map(([line]) => line);
  const first = file.hits.find(([, hits]) => hits === 0)?.[0] ?? file.partial[0] ?? numbers[0] ?? 1;
  if (!file.text) return <p class="notice">{`The file is not on this machine. Lines without execution: ${file.hits.filter(([, it]) => it === 0).map(([line]) => line).join(", ") || "none"}.`}</p>;
  const kind = (line: number) => (hits.get(line) === 0 ? "missed" : partial.has(line) ? "partial" : hits.has(line) ? "hit" : "");
  return (
    <figure class="source coverage">
      <figcaption>
        <b class="mono wrap">{file.path}</b>
        <span class="faint">✗ never executed, ◐ one way of a branch only</span>
      </figcaption>
      <div class="coverage-lines">
        <Virtual
          rows={rows.length}
          label={`Lines of ${file.path}`}
          at={first - 1}
          when={file.path}
          row={(index) => (
            <div class={`code-row ${kind(index + 1)}`} key={index}>
              <i class="line">{index + 1}</i>
              <i class="hits">{hits.has(index + 1) ? count(hits.get(index + 1)) : ""}</i>
              <i class="sign">{kind(index + 1) === "missed" ? "✗" : kind(index + 1) === "partial" ? "◐" : ""}</i>
              <code>{rows[index] || " "}</code>
            </div>
          )}
        />
      </div>
    </figure>
  );
}
