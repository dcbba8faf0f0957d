// Code beside its source: the instructions of a program, and the file of the present line.

import { ask, type CodeLine, type FrameOf, type ProgramOf, type SourceLines, type Subject } from "./steps";
import { useParts, Virtual } from "./virtual";

const INSTRUCTIONS = 500;
const LINES = 1000;

export function Code(props: { subject: Subject; program: number; of: ProgramOf; pc: number; when: number; run: (pc: number) => void }) {
  const parts = useParts(`${props.subject.name} ${props.program}`, INSTRUCTIONS, (part) =>
    ask<{ instructions: CodeLine[] }>(props.subject, "code", { program: props.program, from: part * INSTRUCTIONS, count: INSTRUCTIONS }),
  );
  const row = (pc: number) => {
    const it = parts.part(pc)?.instructions[pc % INSTRUCTIONS];
    const before = pc > 0 ? parts.part(pc - 1)?.instructions[(pc - 1) % INSTRUCTIONS] : undefined;
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
  return <Virtual class="code-list" label={`Instructions of ${props.of.name}`} rows={props.of.slots} at={props.pc} when={props.when} row={row} seen={parts.need} />;
}

export function Source(props: { subject: Subject; frame: FrameOf; when: number; run: (place: string) => void }) {
  const { file, line } = props.frame;
  const parts = useParts(`${props.subject.name} ${file}`, LINES, async (part) => {
    const lines = await ask<SourceLines | null>(props.subject, "source", { file, from: part * LINES + 1, count: LINES });
    return lines ?? { from: 1, total: 0, lines: [], withCode: [] };
  });
  const known = parts.part(line! - 1);
  const row = (index: number) => {
    const part = parts.part(index);
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
  return <Virtual class="code-list" label="Source" rows={known?.total ?? line! + 40} at={line! - 1} when={`${props.when} ${file} ${!!known}`} row={row} seen={parts.need} />;
}
