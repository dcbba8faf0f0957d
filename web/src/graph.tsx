// The control flow of a function: its basic blocks, in layers from the first one down.

import { useMemo, useState } from "preact/hooks";
import { count, counted } from "./format";
import { param, setParam } from "./router";
import { rpc } from "./rpc";
import type { Disassembled } from "./types";
import { Loaded, Section, useLoad } from "./ui";

interface Block {
  pc: number;
  instructions: string[];
  /** Where control goes on: if the branch is not taken, and if it is. */
  to: number[];
}

interface Graph {
  blocks: Block[];
  /** How many there are, if they are too many to be shown. */
  omitted: number;
}

const LINE = 17;
const CHAR = 7.3;
const LINES_MAX = 14;
const WIDTH_MAX = 330;
const GAP = { x: 28, y: 44 };

export function ControlFlow({ address, about }: { address: string; about: Disassembled }) {
  const [pc, setPc] = useState(param("graph"));
  const choose = (event: Event) => {
    const value = (event.target as HTMLSelectElement).value;
    setPc(value);
    setParam("graph", value);
  };
  return (
    <Section
      title="Control flow"
      aside={
        <select aria-label="Function whose control flow is shown" value={pc} onChange={choose}>
          <option value="">Choose a function</option>
          {about.functions.map((it) => (
            <option key={it.pc} value={String(it.pc)}>
              {it.name}
            </option>
          ))}
        </select>
      }
    >
      {pc ? <Drawn key={pc} address={address} pc={Number(pc)} /> : <p class="faint">The blocks of a function, and how control gets from one to another.</p>}
    </Section>
  );
}

function Drawn({ address, pc }: { address: string; pc: number }) {
  const graph = useLoad(() => rpc<Graph | null>("selkie_disassembleProgram", address, { graph: pc }), `${address} ${pc}`);
  return (
    <Loaded of={graph} lines={8}>
      {(it) =>
        it && it.blocks.length > 0 ? (
          <>
            <Picture blocks={it.blocks} />
            {it.omitted > 0 && <p class="faint after">{count(it.omitted)} more blocks are not shown.</p>}
          </>
        ) : (
          <p class="faint">There is no such function.</p>
        )
      }
    </Loaded>
  );
}

interface Placed extends Block {
  x: number;
  y: number;
  width: number;
  height: number;
  layer: number;
}

/** Places blocks in layers, each below all blocks that lead to it, but for loops. */
function place(blocks: Block[]): { placed: Map<number, Placed>; width: number; height: number } {
  const known = new Map(blocks.map((it) => [it.pc, it]));
  const layers = new Map<number, number>();
  // Back edges are those to a block that is on the way to this one. Without recursion: functions may be long.
  const order: number[] = [];
  const state = new Map<number, "open" | "done">();
  for (const { pc: root } of blocks) {
    const way: [number, number][] = state.has(root) ? [] : [[root, 0]];
    if (way.length > 0) state.set(root, "open");
    while (way.length > 0) {
      const top = way[way.length - 1];
      const next = known.get(top[0])!.to[top[1]++];
      if (next === undefined) {
        state.set(top[0], "done");
        order.unshift(top[0]);
        way.pop();
      } else if (known.has(next) && !state.has(next)) {
        state.set(next, "open");
        way.push([next, 0]);
      }
    }
  }
  const rank = new Map(order.map((pc, index) => [pc, index]));
  const isForward = (from: number, to: number) => rank.get(to)! > rank.get(from)!;
  for (const pc of order) {
    const layer = layers.get(pc) ?? 0;
    layers.set(pc, layer);
    for (const to of known.get(pc)!.to) {
      if (known.has(to) && isForward(pc, to)) layers.set(to, Math.max(layers.get(to) ?? 0, layer + 1));
    }
  }
  const rows: Placed[][] = [];
  for (const pc of order) {
    const block = known.get(pc)!;
    const lines = Math.min(block.instructions.length, LINES_MAX + 1);
    const chars = Math.max(8, ...block.instructions.slice(0, LINES_MAX).map((it) => it.length));
    const layer = layers.get(pc)!;
    (rows[layer] ??= []).push({ ...block, layer, x: 0, y: 0, width: Math.min(WIDTH_MAX, chars * CHAR + 24), height: (lines + 1) * LINE + 14 });
  }
  const placed = new Map<number, Placed>();
  let y = 12;
  let width = 0;
  for (const row of rows) {
    // Each block is near those that lead to it.
    const wanted = (it: Placed) => {
      const from = [...placed.values()].filter((above) => above.to.includes(it.pc)).map((above) => above.x + above.width / 2);
      return from.length > 0 ? from.reduce((sum, x) => sum + x) / from.length : 0;
    };
    const wishes = new Map(row.map((it) => [it, wanted(it)]));
    row.sort((a, b) => wishes.get(a)! - wishes.get(b)!);
    let x = 12;
    for (const it of row) {
      it.x = Math.max(x, wishes.get(it)! - it.width / 2);
      it.y = y;
      x = it.x + it.width + GAP.x;
      placed.set(it.pc, it);
    }
    width = Math.max(width, x);
    y += Math.max(...row.map((it) => it.height)) + GAP.y;
  }
  return { placed, width: width + 60, height: y };
}

function Picture({ blocks }: { blocks: Block[] }) {
  const { placed, width, height } = useMemo(() => place(blocks), [blocks]);
  const all = [...placed.values()];
  const edges = all.flatMap((from) => from.to.map((pc, index) => ({ from, to: placed.get(pc), isTaken: from.to.length > 1 && index === 1 })));
  return (
    <div class="graph" tabIndex={0} role="region" aria-label={`${counted(blocks.length, "block")} of the function`}>
      <div style={{ width: `${width}px`, height: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true">
          <defs>
            <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0 0 8 4 0 8z" />
            </marker>
          </defs>
          {edges.map(({ from, to, isTaken }, index) => to && <path key={index} class={isTaken ? "edge taken" : "edge"} d={curve(from, to, all)} marker-end="url(#tip)" />)}
        </svg>
        {all.map((it) => (
          <div key={it.pc} class="block" style={{ left: `${it.x}px`, top: `${it.y}px`, width: `${it.width}px`, height: `${it.height}px` }}>
            <b class="number">{it.pc}</b>
            <pre>
              {it.instructions.slice(0, LINES_MAX).join("\n")}
              {it.instructions.length > LINES_MAX && `\n… ${it.instructions.length - LINES_MAX} more`}
            </pre>
            <span class="visually-hidden">{it.to.length > 0 ? `Goes on at ${it.to.join(" or ")}` : "Ends the function"}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

function curve(from: Placed, to: Placed, all: Placed[]): string {
  const [x1, y1] = [from.x + from.width / 2, from.y + from.height];
  const [x2, y2] = [to.x + to.width / 2, to.y];
  if (y2 > y1) {
    // Beside the blocks that are on the straight way.
    const middle = (x1 + x2) / 2;
    const between = all.filter((it) => it.layer > from.layer && it.layer < to.layer && it.x < middle + 4 && it.x + it.width > middle - 4);
    if (between.length > 0) {
      const side = Math.max(...between.map((it) => it.x + it.width)) + 16;
      const [top, bottom] = [Math.min(...between.map((it) => it.y)), Math.max(...between.map((it) => it.y + it.height))];
      return `M${x1} ${y1} C${x1} ${y1 + 22} ${side} ${top - 26} ${side} ${top} L${side} ${bottom} C${side} ${bottom + 26} ${x2} ${y2 - 26} ${x2} ${y2 - 2}`;
    }
  }
  if (y2 > y1) return `M${x1} ${y1} C${x1} ${y1 + 30} ${x2} ${y2 - 30} ${x2} ${y2 - 2}`;
  // A loop goes up again beside the blocks.
  const side = Math.max(from.x + from.width, to.x + to.width) + 24;
  return `M${x1} ${y1} C${x1} ${y1 + 34} ${side} ${y1 + 34} ${side} ${y1 - 10} L${side} ${y2 + 6} C${side} ${y2 - 34} ${x2} ${y2 - 34} ${x2} ${y2 - 2}`;
}
