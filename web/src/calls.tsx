// The calls of a transaction as a tree: programs, instructions, accounts, logs and compute units.

import { useEffect, useState } from "preact/hooks";
import { fromBase58, hex } from "./bytes";
import { count, counted, explainError, instructionName, nameOf, short, title } from "./format";
import type { Frame, Landed, Parsed, Trace } from "./types";
import { Address, Copy, Decoded, Mark } from "./ui";

/** A call with what the node decoded of its instruction, and where its compute units begin. */
interface Call {
  frame: Frame;
  parsed?: Parsed;
  path: string;
  start: number;
  inner: Call[];
}

/** Puts calls and decoded instructions together, which come in the same order. */
function callsOf(trace: Trace, landed?: Landed): Call[] {
  let start = 0;
  return trace.frames.map((frame, index) => {
    const message = landed?.transaction.message.instructions[index];
    const inner = landed?.meta.innerInstructions?.find((it) => it.index === index)?.instructions ?? [];
    const decoded = [message, ...inner];
    let at = 0;
    const call = (frame: Frame, path: string, start: number): Call => {
      const parsed = decoded[at++];
      let from = start;
      const calls = frame.inner.map((it, index) => {
        const made = call(it, `${path}.${index}`, from);
        from += it.computeUnits;
        return made;
      });
      return { frame, parsed: parsed?.programId === frame.program ? parsed : undefined, path, start, inner: calls };
    };
    const made = call(frame, String(index), start);
    start += frame.computeUnits;
    return made;
  });
}

export function Calls(props: { trace: Trace; landed?: Landed; open?: boolean }) {
  const { trace } = props;
  const calls = callsOf(trace, props.landed);
  const failed = trace.err ? explainError(trace.err).instruction : undefined;
  const total = Math.max(1, trace.computeUnits);
  return (
    <>
      <ol class="calls" aria-label="Calls">
        {calls.map((it, index) => (
          <CallView key={it.path} call={it} total={total} hasFailed={index === failed} open={props.open} />
        ))}
      </ol>
      {trace.logs.length > 0 && <Log lines={trace.logs} />}
    </>
  );
}

/** Returns whether the call itself failed, rather than one around it or beside it. */
const failedLine = (frame: Frame) => frame.logs.some((it) => it.startsWith(`Program ${frame.program} failed`));

function CallView(props: { call: Call; total: number; hasFailed: boolean; open?: boolean }) {
  const { frame, parsed, inner } = props.call;
  const has = failedLine(frame) || (props.hasFailed && frame.stackHeight === 1 && inner.every((it) => !failedLine(it.frame)));
  const [isOpen, setOpen] = useState(has || frame.stackHeight === 1);
  useEffect(() => {
    if (props.open !== undefined) setOpen(props.open);
  }, [props.open]);
  const name = instructionName(parsed) ?? (frame.described && title(frame.described.name));
  const id = `call-${props.call.path}`;
  return (
    <li id={id} class={has ? "call-item bad" : "call-item"}>
      <div class="call-line">
        <button class="twist" aria-expanded={isOpen} aria-controls={`${id}-more`} onClick={() => setOpen(!isOpen)}>
          <span class="visually-hidden">
            Details of {nameOf(frame.program) ?? short(frame.program)} {name ?? ""}
          </span>
          <svg viewBox="0 0 12 12" aria-hidden="true">
            <path d="M4 2.5 8 6 4 9.5" />
          </svg>
        </button>
        <Mark address={frame.program} />
        <span class="call-name">
          <Address of={frame.program} plain />
          <b>{name ?? (frame.data ? `${counted(bytesOf(frame).length, "byte")} of data` : "no data")}</b>
          {has && <span class="why">failed</span>}
        </span>
        <span class="call-units number" title={`${count(frame.selfComputeUnits)} of its own`}>
          {count(frame.computeUnits)}
        </span>
        <span class="tide" aria-hidden="true">
          <i style={{ "--from": String(props.call.start / props.total), "--size": String(frame.computeUnits / props.total) }} />
        </span>
      </div>
      {isOpen && (
        <div class="call-more" id={`${id}-more`}>
          <Details call={props.call} />
          <Log lines={frame.logs} />
        </div>
      )}
      {inner.length > 0 && (
        <ol class="inner">
          {inner.map((it) => (
            <CallView key={it.path} call={it} total={props.total} hasFailed={props.hasFailed} open={props.open} />
          ))}
        </ol>
      )}
    </li>
  );
}

const bytesOf = (frame: Frame) => fromBase58(frame.data) ?? new Uint8Array();

function Details({ call }: { call: Call }) {
  const { frame, parsed } = call;
  const decoded = typeof parsed?.parsed === "string" ? parsed.parsed : parsed?.parsed?.info;
  const named = frame.described?.info;
  const info = decoded ?? (named && Object.keys(named).length > 0 ? named : undefined);
  const data = hex(bytesOf(frame));
  const isDecoded = info !== undefined && info !== null;
  return (
    <div class="call-info">
      {isDecoded && <Decoded value={info} />}
      <details open={(decoded === undefined || parsed?.accounts !== undefined) && frame.accounts.length + data.length < 140}>
        <summary>
          {counted(frame.accounts.length, "account")}, {counted(data.length / 2, "byte")} of data
        </summary>
        <ol class="accounts" start={0}>
          {frame.accounts.map((it, index) => (
            <li key={index}>
              <span class="number faint">{index}</span>
              {frame.described?.accounts[index] && <span class="role-name">{frame.described.accounts[index]}</span>}
              <Address of={it} />
            </li>
          ))}
        </ol>
        {data && (
          <div class="code">
            <Copy text={data} label="data in hexadecimal" />
            <pre class="fold" tabIndex={0}>{data.replace(/(.{8})/g, "$1 ")}</pre>
          </div>
        )}
      </details>
    </div>
  );
}

/** Log lines: what programs say themselves stands out from what the runtime says. */
export function Log({ lines }: { lines: string[] }) {
  if (lines.length === 0) return null;
  return (
    <ul class="log mono" aria-label="Log">
      {lines.map((line, index) => {
        const said = /^Program (log|data|return): ?/.exec(line);
        const kind = said ? "said" : / failed/.test(line) ? "bad" : "";
        return (
          <li key={index} class={kind}>
            {said && said[1] !== "log" && <i class="faint">{said[1]} </i>}
            {said ? line.slice(said[0].length) : shortened(line)}
          </li>
        );
      })}
    </ul>
  );
}

/** The runtime's lines with names in place of addresses. */
const shortened = (line: string) => line.replace(/\b[1-9A-HJ-NP-Za-km-z]{32,44}\b/g, (it) => nameOf(it) ?? short(it));
