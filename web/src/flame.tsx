// Where the compute units of a transaction go: programs, calls, functions and lines, as wide as their units.

import { useMemo, useRef, useState } from "preact/hooks";
import { count, learnName, nameOf } from "./format";
import { param, setParam } from "./router";
import { rpc } from "./rpc";
import { type Subject, subjectOf } from "./steps";
import { Loaded, Mark, Signature, useKeys, useLoad } from "./ui";

interface FlameFrame {
  name: string;
  kind: "program" | "function" | "inlined" | "syscall" | "runtime" | "line";
  parent: number | null;
  self: number;
  total: number;
  calls: number;
  lines: [string, number][];
  isOwn: boolean;
  program: string;
}

interface Flames {
  own: FlameFrame[];
  all: FlameFrame[];
  units: number;
}

/** A frame where it is drawn. */
interface Box {
  frame: FlameFrame;
  index: number;
  depth: number;
  from: number;
  parent?: Box;
}

const ROW = 22;
const PART_MIN = 0.0008;
const FORMATS = [
  ["speedscope", "Save for speedscope"],
  ["collapsed", "Save folded stacks"],
  ["svg", "Save SVG"],
] as const;

export function FlameView({ signature }: { signature: string }) {
  const subject = useRef(subjectOf(signature)).current;
  const flames = useLoad(async () => {
    const it = await rpc<Flames | null>("selkie_flameTransaction", subject.name);
    if (!it) throw new Error("The node does not have this transaction: it has not landed, or is older than the history that is kept.");
    for (const frame of it.own) if (frame.kind === "program" && frame.name !== frame.program) learnName(frame.program, frame.name);
    return it;
  }, subject.name);
  return (
    <>
      <header class="page">
        <h1>
          Compute units{" "}
          {subject.isSimulated ? (
            <span class="faint">of a simulated transaction</span>
          ) : signature === "replay-all" ? (
            <span class="faint">of all recorded transactions</span>
          ) : (
            <Signature of={signature} full />
          )}
        </h1>
      </header>
      <Loaded of={flames} lines={10}>
        {(it) => (it.units ? <Flame flames={it} subject={subject} /> : <p class="notice">This transaction took no compute units.</p>)}
      </Loaded>
    </>
  );
}

/** Puts each frame below its caller, the widest first, and its lines below it. */
function place(frames: FlameFrame[]): Box[] {
  const inner = new Map<number | null, number[]>();
  frames.forEach((it, index) => {
    const siblings = inner.get(it.parent) ?? [];
    siblings.push(index);
    inner.set(it.parent, siblings);
  });
  const boxes: Box[] = [];
  const add = (parent: number | null, depth: number, start: number, above?: Box) => {
    let from = start;
    const siblings = (inner.get(parent) ?? []).sort((a, b) => frames[b].total - frames[a].total);
    for (const index of siblings) {
      const box = { frame: frames[index], index, depth, from, parent: above };
      boxes.push(box);
      add(index, depth + 1, from, box);
      from += frames[index].total;
    }
    if (parent === null) return;
    const { lines, program, isOwn } = frames[parent];
    for (const [name, units] of lines) {
      const frame: FlameFrame = { name, kind: "line", parent, self: units, total: units, calls: 0, lines: [], isOwn, program };
      boxes.push({ frame, index: -1, depth, from, parent: above });
      from += units;
    }
  };
  add(null, 0, 0);
  return boxes;
}

function Flame({ flames, subject }: { flames: Flames; subject: Subject }) {
  const [isAll, setAll] = useState(param("code") === "all");
  const frames = isAll ? flames.all : flames.own;
  const boxes = useMemo(() => place(frames), [frames]);
  const [zoom, setZoom] = useState<Box>();
  const [wanted, setWanted] = useState(param("search"));
  const [problem, setProblem] = useState("");
  const from = zoom?.from ?? 0;
  const whole = zoom?.frame.total ?? flames.units;
  const top = zoom?.depth ?? 0;
  const word = wanted.trim().toLowerCase();
  const isFound = (it: FlameFrame) => word !== "" && it.name.toLowerCase().includes(word);
  const around: Box[] = [];
  for (let box = zoom?.parent; box; box = box.parent) around.unshift(box);
  const shown = boxes.filter(
    (it) => it.depth >= top && it.frame.total / whole >= PART_MIN && it.from >= from && it.from + it.frame.total <= from + whole && (it.depth > top || !zoom || it === zoom),
  );
  const depth = Math.max(1, ...shown.map((it) => it.depth - top + 1));
  const found = word ? units(boxes.filter((it) => isFound(it.frame))) : 0;
  const show = (all: boolean) => {
    setAll(all);
    setZoom(undefined);
    setParam("code", all ? "all" : "");
  };
  const save = async (format: string) => {
    try {
      const it = await rpc<{ text: string; extension: string }>("selkie_flameTransaction", subject.name, format);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([it.text], { type: "application/json" }));
      link.download = `${subject.isSimulated ? "simulation" : subject.name.slice(0, 12)}${it.extension}`;
      link.click();
      URL.revokeObjectURL(link.href);
      setProblem("");
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  useKeys({ a: () => show(!isAll), z: () => setZoom(undefined) });
  const percent = (units: number) => `${((units / flames.units) * 100).toFixed(1)} %`;
  return (
    <>
      <div class="tools start">
        <span class="choice" role="group" aria-label="Code">
          <button aria-pressed={!isAll} onClick={() => show(false)} title="Libraries count for the own functions that call them (a)">
            Own code
          </button>
          <button aria-pressed={isAll} onClick={() => show(true)} title="Every function (a)">
            All code
          </button>
        </span>
        <input
          type="search"
          aria-label="Search functions and lines"
          placeholder="Function or line"
          value={wanted}
          onInput={(event) => {
            const text = (event.target as HTMLInputElement).value;
            setWanted(text);
            setParam("search", text);
          }}
        />
        <span class="number faint" role="status">
          {word ? `${count(found)} units, ${percent(found)}` : ""}
        </span>
        <button disabled={!zoom} onClick={() => setZoom(undefined)} title="Show everything (z)">
          Show all
        </button>
        {FORMATS.map(([format, name]) => (
          <button key={format} onClick={() => save(format)}>
            {name}
          </button>
        ))}
      </div>
      {problem && <p class="hint bad">{problem}</p>}
      <p class="after flame-sum">
        <b class="number">{count(flames.units)}</b> compute units
        {around.map((it) => (
          <>
            {" › "}
            <button class="link" onClick={() => setZoom(it)}>
              {it.frame.name}
            </button>
          </>
        ))}
        {zoom && (
          <>
            {" › "}
            <b>{zoom.frame.name}</b> <span class="number">{count(zoom.frame.total)}</span> ({percent(zoom.frame.total)})
          </>
        )}
      </p>
      <div class="flame" style={{ height: `${depth * ROW}px` }} role="group" aria-label="Flame graph">
        {shown.map((it) => {
          const { frame } = it;
          const about = `${frame.name}: ${count(frame.total)} compute units (${percent(frame.total)}), ${count(frame.self)} of its own${frame.calls ? `, called ${count(frame.calls)} times` : ""}`;
          return (
            <button
              key={`${it.depth} ${it.from} ${frame.name}`}
              class={`${frame.kind}${frame.isOwn ? " own" : ""}${word ? (isFound(frame) ? " found" : " other") : ""}`}
              style={{ left: `${((it.from - from) / whole) * 100}%`, width: `${(frame.total / whole) * 100}%`, top: `${(it.depth - top) * ROW}px` }}
              title={about}
              aria-label={about}
              disabled={frame.kind === "line"}
              onClick={() => setZoom(it === zoom ? it.parent : it)}
            >
              {frame.total / whole > 0.02 ? frame.name : ""}
            </button>
          );
        })}
      </div>
      <Heaviest frames={frames} units={flames.units} percent={percent} />
    </>
  );
}

/** The units of boxes, those within others not counted again. */
function units(boxes: Box[]): number {
  const all = new Set(boxes);
  const isWithin = (box: Box) => {
    for (let it = box.parent; it; it = it.parent) if (all.has(it)) return true;
    return false;
  };
  return boxes.filter((it) => !isWithin(it)).reduce((sum, it) => sum + it.frame.total, 0);
}

const LINES_SHOWN = 12;

function Heaviest({ frames, units, percent }: { frames: FlameFrame[]; units: number; percent: (units: number) => string }) {
  const lines = new Map<string, { units: number; program: string }>();
  for (const frame of frames) {
    for (const [name, own] of frame.lines) {
      const it = lines.get(name) ?? { units: 0, program: frame.program };
      it.units += own;
      lines.set(name, it);
    }
  }
  const sorted = [...lines].sort((a, b) => b[1].units - a[1].units).slice(0, LINES_SHOWN);
  if (sorted.length === 0) return null;
  return (
    <section aria-labelledby="lines">
      <header class="section">
        <h2 id="lines">Lines</h2>
        <div class="aside">compute units of their own</div>
      </header>
      <div class="scroll">
        <table>
          <tbody>
            {sorted.map(([name, it]) => (
              <tr key={name}>
                <td class="mono wrap">{name}</td>
                <td class="wide">
                  <Mark address={it.program} /> {nameOf(it.program) ?? ""}
                </td>
                <td class="right number">{count(it.units)}</td>
                <td class="right number faint">{percent(it.units)}</td>
                <td class="wide">
                  <span class="tide" aria-hidden="true">
                    <i style={{ "--from": "0", "--size": String(it.units / units) }} />
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
