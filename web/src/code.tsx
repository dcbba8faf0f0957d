// Code beside its source: the instructions of a program, and the file of the present line.

import { ask, type CodeLine, type FrameOf, type ProgramOf, type SourceLines, type Subject } from "./steps";
import { each, useParts, Virtual } from "./virtual";

const INSTRUCTIONS = 500;
const LINES = 1000;

export function Code(props: { subject: Subject; program: number; of: ProgramOf; pc: number; when: number; run: (pc: number) => void }) {
  const parts = useParts<{ instructions: CodeLine[] }>(INSTRUCTIONS);
  const of = `${props.subject.name} ${props.program}`;
  const load = (part: number) =>
    ask<{ instructions: CodeLine[] }>(props.subject, "code", { program: props.program, from: part * INSTRUCTIONS, count: INSTRUCTIONS });
  const at = (pc: number) => (pc < 0 ? undefined : parts.part(of, pc)?.instructions[pc % INSTRUCTIONS]);
  const state = (pc: number) => `${of} ${pc === props.pc} ${!!at(pc)} ${!!at(pc - 1)}`;
  const row = (pc: number) => {
    const it = at(pc);
    const before = at(pc - 1);
    const isHere = pc === props.pc;
    return (
      <div key={pc} class={isHere ? "code-row here" : "code-row"} aria-current={isHere ? "step" : undefined}>
        <button tabIndex={-1} class="slot" title="Run to this instruction" onClick={() => props.run(pc)}>
          {pc}
        </button>
        <code>{it?.text ?? ""}</code>
        {it?.function ? <b>{it.function}</b> : <i>{it?.line && it.line !== before?.line ? it.line : ""}</i>}
      </div>
    );
  };
  return (
    <Virtual
      class="code-list"
      label={`Instructions of ${props.of.name}`}
      rows={props.of.slots}
      at={props.pc}
      when={props.when}
      row={row}
      state={state}
      seen={(first, last) => parts.need(of, first, last, each(load))}
    />
  );
}

export function Source(props: { subject: Subject; frame: FrameOf; when: number; run: (place: string) => void }) {
  const { file, line } = props.frame;
  const parts = useParts<SourceLines>(LINES);
  const of = `${props.subject.name} ${file}`;
  const load = async (part: number) => {
    const lines = await ask<SourceLines | null>(props.subject, "source", { file, from: part * LINES + 1, count: LINES });
    return lines ?? { from: 1, total: 0, lines: [], withCode: [] };
  };
  const known = parts.part(of, line! - 1);
  const state = (index: number) => `${of} ${index + 1 === line} ${!!parts.part(of, index)}`;
  const row = (index: number) => {
    const part = parts.part(of, index);
    const at = index + 1;
    const isHere = at === line;
    const hasCode = part?.withCode.includes(at);
    return (
      <div key={at} class={isHere ? "code-row here" : "code-row"} aria-current={isHere ? "step" : undefined}>
        <button tabIndex={-1} class="slot" disabled={!hasCode} title={hasCode ? "Run to this line" : undefined} onClick={() => props.run(`${file}:${at}`)}>
          {at}
        </button>
        <code>{part?.lines[index % LINES] ?? ""}</code>
      </div>
    );
  };
  if (known?.total === 0) return <p class="faint pane-note">{file} is not on this machine.</p>;
  // The length is known with the first part: until then the list is as long as the line needs it.
  return (
    <Virtual
      class="code-list"
      label="Source"
      rows={known?.total ?? line! + 40}
      at={line! - 1}
      when={`${props.when} ${file} ${!!known}`}
      row={row}
      state={state}
      seen={(first, last) => parts.need(of, first, last, each(load))}
    />
  );
}
