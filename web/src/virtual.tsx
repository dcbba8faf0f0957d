// Long lists: only the rows in sight are in the page, and only the parts in sight are asked for.

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export const ROW_PIXELS = 20;
const SPARE_ROWS = 6;
/** How many parts of something long are kept. */
const PARTS_MAX = 256;

/** A list of rows of one height. `at` is scrolled to where it changes. */
export function Virtual(props: {
  rows: number;
  label: string;
  class?: string;
  at?: number;
  /** Scrolls to `at` when this changes. */
  when?: unknown;
  row: (index: number) => VNode;
  /** What a row shows, as text: while it is the same, the row is not drawn again. */
  state?: (index: number) => string;
  seen?: (first: number, last: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef(new Map<number, { state: string; row: VNode }>());
  const [{ top, height }, set] = useState({ top: 0, height: 400 });
  const read = () => {
    if (!box.current) return;
    const { scrollTop: top, clientHeight: height } = box.current;
    set((it) => (it.top === top && it.height === height ? it : { top, height }));
  };
  useLayoutEffect(() => {
    const it = box.current;
    if (!it || props.at === undefined || props.at < 0) return;
    const from = props.at * ROW_PIXELS;
    const margin = Math.min(4 * ROW_PIXELS, it.clientHeight / 4);
    if (from < it.scrollTop + margin || from + ROW_PIXELS > it.scrollTop + it.clientHeight - margin) {
      it.scrollTop = Math.max(0, from - it.clientHeight / 2 + ROW_PIXELS);
    }
    read();
  }, [props.at, props.when, props.rows > 0]);
  useEffect(() => {
    const watch = new ResizeObserver(read);
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW_PIXELS) - SPARE_ROWS);
  const last = Math.min(props.rows, Math.ceil((top + height) / ROW_PIXELS) + SPARE_ROWS);
  useEffect(() => props.seen?.(first, Math.max(first, last - 1)), [first, last, props.when]);
  const before = drawn.current;
  drawn.current = new Map();
  const row = (index: number): ComponentChildren => {
    if (!props.state) return props.row(index);
    const state = props.state(index);
    const old = before.get(index);
    const kept = old?.state === state ? old : { state, row: props.row(index) };
    drawn.current.set(index, kept);
    return kept.row;
  };
  return (
    <div class={`virtual ${props.class ?? ""}`} ref={box} onScroll={read} tabIndex={0} role="region" aria-label={props.label}>
      <div style={{ height: `${props.rows * ROW_PIXELS}px` }}>
        <div style={{ transform: `translateY(${first * ROW_PIXELS}px)` }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, index) => row(first + index))}
        </div>
      </div>
    </div>
  );
}

/** Parts of long things, which are asked for once each. A thing is named by a text. */
export function useParts<T>(size: number) {
  const parts = useRef(new Map<string, T | null>()).current;
  const [, redraw] = useState(0);
  /** The numbers of the parts between two indices. */
  const numbers = (first: number, last: number) =>
    Array.from({ length: Math.floor(last / size) - Math.floor(first / size) + 1 }, (_, index) => Math.floor(first / size) + index);
  return {
    /** Asks for the parts that are missing between two indices, at once. */
    need(of: string, first: number, last: number, load: (numbers: number[]) => Promise<T[]>) {
      const missing = numbers(first, last).filter((it) => !parts.has(`${of} ${it}`));
      if (missing.length === 0) return;
      for (const it of missing) parts.set(`${of} ${it}`, null);
      load(missing).then(
        (values) => {
          values.forEach((value, index) => parts.set(`${of} ${missing[index]}`, value));
          for (const key of parts.keys()) if (parts.size > PARTS_MAX) parts.delete(key);
          redraw((it) => it + 1);
        },
        // They are asked for again when they are in sight again.
        () => missing.forEach((it) => parts.delete(`${of} ${it}`)),
      );
    },
    has: (of: string, first: number, last: number) => numbers(first, last).every((it) => parts.get(`${of} ${it}`)),
    /** The part that an index lies in. */
    part: (of: string, index: number) => parts.get(`${of} ${Math.floor(index / size)}`) ?? undefined,
  };
}

/** Loads parts by a question for each. */
export const each = <T,>(load: (number: number) => Promise<T>) => (numbers: number[]) => Promise.all(numbers.map(load));
