// The compute units of a run from left to right, with the calls that took them.

import { useMemo } from "preact/hooks";
import { count } from "./format";
import type { CallOf } from "./steps";

const LEVELS_MAX = 14;
const ROW = 13;
/** Narrower calls, as parts of the whole, cannot be seen. */
const PART_MIN = 0.0012;

export function Timeline(props: {
  calls: CallOf[];
  units: number;
  steps: number;
  step: number;
  used?: number;
  go: (step: number) => void;
}) {
  const total = Math.max(1, props.units);
  const shown = useMemo(
    () => props.calls.filter((it) => it.level < LEVELS_MAX && (it.unitsTo - it.unitsFrom) / total >= PART_MIN),
    [props.calls, total],
  );
  const levels = Math.max(1, ...shown.map((it) => it.level + 1));
  const height = levels * ROW + 8;
  const drawn = useMemo(
    () =>
      shown.map((it) => (
        <rect
          key={`${it.level} ${it.start}`}
          class={`call-${it.level % 4}`}
          x={`${(it.unitsFrom / total) * 100}%`}
          y={it.level * ROW + 4}
          width={`${((it.unitsTo - it.unitsFrom) / total) * 100}%`}
          height={ROW - 1}
        >
          <title>
            {it.name}: {count(it.unitsTo - it.unitsFrom)} compute units, {count(it.end - it.start)} steps
          </title>
        </rect>
      )),
    [shown, total],
  );
  /** The step at a place: of the innermost call there, as far as the pointer is into it. */
  const pick = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const units = ((event.clientX - box.left) / box.width) * total;
    const level = Math.floor((event.clientY - box.top - 4) / ROW);
    const around = props.calls.filter((it) => it.unitsFrom <= units && units < it.unitsTo);
    const wanted = around.find((it) => it.level === level) ?? around.sort((a, b) => b.level - a.level)[0];
    if (!wanted) return props.go(Math.round((units / total) * props.steps));
    // Pressing on a call goes to its start, beside it to the place itself.
    if (wanted.level === level) return props.go(wanted.start);
    const part = (units - wanted.unitsFrom) / Math.max(1, wanted.unitsTo - wanted.unitsFrom);
    props.go(Math.round(wanted.start + part * (wanted.end - wanted.start)));
  };
  const used = props.used === undefined ? total : props.used;
  return (
    <div class="timeline">
      <svg width="100%" height={height} onClick={pick} role="img" aria-label={`Calls over ${count(props.units)} compute units`}>
        {drawn}
        <line class="cursor" x1={`${(used / total) * 100}%`} x2={`${(used / total) * 100}%`} y1="0" y2={height} />
      </svg>
      <label>
        <span class="visually-hidden">Step</span>
        <input
          type="range"
          min="0"
          max={props.steps}
          value={props.step}
          onChange={(event) => props.go(Number((event.target as HTMLInputElement).value))}
        />
      </label>
    </div>
  );
}
