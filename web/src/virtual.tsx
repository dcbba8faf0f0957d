// Long lists: only the rows in sight are in the page, and only the parts in sight are asked for.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export const ROW_PIXELS = 20;
const SPARE_ROWS = 6;

/** A list of rows of one height. `at` is scrolled to where it changes. */
export function Virtual(props: {
  rows: number;
  label: string;
  class?: string;
  at?: number;
  /** Scrolls to `at` when this changes. */
  when?: unknown;
  row: (index: number) => ComponentChildren;
  seen?: (first: number, last: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [{ top, height }, set] = useState({ top: 0, height: 400 });
  const read = () => box.current && set({ top: box.current.scrollTop, height: box.current.clientHeight });
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
  return (
    <div class={`virtual ${props.class ?? ""}`} ref={box} onScroll={read} tabIndex={0} role="region" aria-label={props.label}>
      <div style={{ height: `${props.rows * ROW_PIXELS}px` }}>
        <div style={{ transform: `translateY(${first * ROW_PIXELS}px)` }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, index) => props.row(first + index))}
        </div>
      </div>
    </div>
  );
}

/** Parts of something long, which are asked for once each. */
export function useParts<T>(key: string, size: number, load: (part: number) => Promise<T>) {
  const kept = useRef({ key, parts: new Map<number, T | null>() });
  const [, redraw] = useState(0);
  if (kept.current.key !== key) kept.current = { key, parts: new Map() };
  const { parts } = kept.current;
  const need = (first: number, last: number) => {
    for (let part = Math.floor(first / size); part <= Math.floor(last / size); part++) {
      if (parts.has(part)) continue;
      parts.set(part, null);
      load(part).then(
        (value) => {
          parts.set(part, value);
          redraw((it) => it + 1);
        },
        // It is asked for again when it is in sight again.
        () => parts.delete(part),
      );
    }
  };
  return { need, part: (index: number) => parts.get(Math.floor(index / size)) ?? undefined };
}
