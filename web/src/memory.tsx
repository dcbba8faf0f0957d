// Memory of the program that runs: its regions drawn as a map, their bytes, and the fields of its input.

import { useEffect, useRef, useState } from "preact/hooks";
import { fromHex } from "./bytes";
import { count, counted, nameOf, short } from "./format";
import { ask, type FieldOf, type Here, type RegionOf, type Subject, type WriteOf } from "./steps";
import { Address, Failure, meaning } from "./ui";
import { each, useParts, Virtual } from "./virtual";

const ROW = 16;
const PART = 4096;

/** The regions that the machine has at multiples of 4 GiB; those of which a program has no bytes are drawn too. */
const MAP = ["read-only data", "code", "stack", "heap", "input"];
const GIB_4 = 2 ** 32;

/** How many addresses a region takes: those of its gaps too. */
const extent = (it: RegionOf) => (it.gap ? 2 * it.len : it.len);

export interface Spot {
  vaddr: number;
  /** Counts how often one went to a place. */
  round: number;
}

export const regionAt = (regions: RegionOf[], vaddr: number) =>
  regions.find((it) => vaddr >= Number(it.vaddr) && vaddr < Number(it.vaddr) + extent(it));

export function Memory(props: { subject: Subject; here: Here; since?: number; spot: Spot; look: (vaddr: number) => void; go: (step: number) => void }) {
  const regions = props.here.regions ?? [];
  const region = regionAt(regions, props.spot.vaddr) ?? regions.find((it) => it.name === "stack") ?? regions[0];
  const [isFields, setFields] = useState(false);
  const [chosen, choose] = useState<number>();
  useEffect(() => {
    choose(undefined);
    if (props.spot.round) setFields(false);
  }, [props.spot.vaddr, props.spot.round]);
  if (!region) return <p class="faint pane-note">No program runs here.</p>;
  return (
    <div class="memory">
      <div class="map" role="tablist" aria-label="Memory map">
        {MAP.map((name, index) => {
          const at = index * GIB_4;
          if (regions.some((it) => Math.floor(Number(it.vaddr) / GIB_4) === index)) return null;
          return (
            <button key={name} role="tab" disabled aria-selected={false} style={{ order: String(index) }}>
              <b>{name}</b>
              <span class="mono">0x{at.toString(16)}</span>
              <span>{name === "code" ? "only executed" : "none"}</span>
            </button>
          );
        })}
        {regions.map((it, index) => {
          const isIn = !isFields && it === region;
          const sameName = regions.filter((other) => other.name === it.name);
          return (
            <button
              key={index}
              role="tab"
              aria-selected={isIn}
              class={`region-${it.name}`}
              style={{ flexGrow: String(Math.log2(it.len + 2)), order: String(Math.floor(Number(it.vaddr) / GIB_4)) }}
              onClick={() => {
                setFields(false);
                props.look(Number(it.vaddr));
              }}
            >
              <b>{it.name}{sameName.length > 1 ? ` ${sameName.indexOf(it) + 1}` : ""}</b>
              <span class="mono">{it.vaddr}</span>
              <span class="number">
                {counted(it.len, "byte")}
                {it.isWritable ? "" : ", read-only"}
              </span>
            </button>
          );
        })}
        {regions.some((it) => it.name === "input") && (
          <button role="tab" aria-selected={isFields} style={{ order: "9" }} onClick={() => setFields(true)}>
            <b>input fields</b>
            <span>by name</span>
          </button>
        )}
      </div>
      {isFields ? (
        <Fields subject={props.subject} step={props.here.step} look={(vaddr) => (setFields(false), props.look(vaddr))} />
      ) : (
        <Bytes {...props} region={region} chosen={chosen} choose={choose} />
      )}
      {chosen !== undefined && !isFields && <Who subject={props.subject} here={props.here} vaddr={chosen} go={props.go} />}
    </div>
  );
}

function Bytes(props: {
  subject: Subject;
  here: Here;
  since?: number;
  spot: Spot;
  region: RegionOf;
  chosen?: number;
  choose: (vaddr: number) => void;
}) {
  const { here, since, region } = props;
  const base = Number(region.vaddr);
  const size = extent(region);
  const place = `${props.subject.name} ${here.invocation} ${base} ${size}`;
  const parts = useParts<Uint8Array>(PART);
  const need = (step: number, [from, to]: [number, number]) =>
    parts.need(`${place} ${step}`, from, to, async (numbers) => {
      const start = numbers[0] * PART;
      const len = Math.min((numbers.at(-1)! + 1) * PART, size) - start;
      const read = ask<string>(props.subject, "memory", { step, vaddr: base + start, len });
      const bytes = await read.then(fromHex, () => new Uint8Array());
      return numbers.map((it) => bytes.subarray(it * PART - start, (it + 1) * PART - start));
    });
  const sight = useRef<[number, number]>([0, 0]);
  /** The steps whose bytes are compared: those before stay until the bytes of the present ones are there. */
  const shown = useRef({ place: "", step: 0, since });
  const isThere = [here.step, since ?? here.step].every((step) => parts.has(`${place} ${step}`, ...sight.current));
  if (isThere || shown.current.place !== place) shown.current = { place, step: here.step, since };
  const bytesAt = (step: number, offset: number) => parts.part(`${place} ${step}`, offset)?.subarray(offset % PART, (offset % PART) + ROW);
  const now = (offset: number) => bytesAt(shown.current.step, offset);
  const before = (offset: number) => (shown.current.since === undefined ? undefined : bytesAt(shown.current.since, offset));
  const marks = [10, ...Array.from({ length: 10 }, (_, index) => index)].map((it) => ({ name: `r${it}`, at: Number(here.registers?.[it] ?? 0) }));
  const named = (offset: number) => marks.filter((it) => it.at >= base + offset && it.at < base + offset + ROW).map((it) => it.name);
  const writes = (here.writes ?? []).map((it) => ({ from: Number(it.vaddr), to: Number(it.vaddr) + it.len }));
  const written = (offset: number) => writes.filter((it) => it.from < base + offset + ROW && base + offset < it.to);
  const at = regionAt([region], props.spot.vaddr) ? Math.floor((props.spot.vaddr - base) / ROW) : undefined;
  const state = (index: number) => {
    const offset = index * ROW;
    const isChosen = props.chosen !== undefined && props.chosen >= base + offset && props.chosen < base + offset + ROW;
    const ranges = written(offset).map((it) => `${it.from} ${it.to}`);
    return [place, index === at, now(offset), before(offset), named(offset), ranges, isChosen && props.chosen].join("|");
  };
  const row = (index: number) => {
    const offset = index * ROW;
    const [bytes, old, ranges] = [now(offset), before(offset), written(offset)];
    return (
      <div key={index} class={index === at ? "bytes-row here" : "bytes-row"}>
        <i>{(base + offset).toString(16)}</i>
        <span>
          {Array.from({ length: ROW }, (_, column) => {
            const byte = bytes?.[column];
            if (byte === undefined) return <s key={column}>··</s>;
            const vaddr = base + offset + column;
            const isChanged = old && old.length > column && old[column] !== byte;
            const isWritten = ranges.some((it) => vaddr >= it.from && vaddr < it.to);
            const kind = [vaddr === props.chosen && "chosen", (isChanged || isWritten) && "changed", byte === 0 && "zero"].filter(Boolean).join(" ");
            return (
              <button key={column} tabIndex={-1} class={kind} onClick={() => props.choose(vaddr)} title={isChanged ? `was ${old![column].toString(16).padStart(2, "0")}` : undefined}>
                {byte.toString(16).padStart(2, "0")}
              </button>
            );
          })}
        </span>
        <b>{bytes && [...bytes].map((it) => (it >= 32 && it < 127 ? String.fromCharCode(it) : "·")).join("")}</b>
        <em>{named(offset).join(" ")}</em>
      </div>
    );
  };
  const seen = (first: number, last: number) => {
    sight.current = [first * ROW, Math.min(Math.max(0, size - 1), last * ROW + ROW - 1)];
    need(here.step, sight.current);
    if (since !== undefined) need(since, sight.current);
  };
  return (
    <Virtual
      class="bytes-list"
      label={`Bytes of the ${region.name}`}
      rows={Math.ceil(size / ROW)}
      at={at}
      when={`${here.step} ${base} ${props.spot.round}`}
      row={row}
      state={state}
      seen={seen}
    />
  );
}

/** Who wrote a byte last. */
function Who({ subject, here, vaddr, go }: { subject: Subject; here: Here; vaddr: number; go: (step: number) => void }) {
  const [len, setLen] = useState(1);
  const [found, set] = useState<WriteOf | null | Error>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => set(undefined), [vaddr, here.step, len]);
  const look = async () => {
    setBusy(true);
    try {
      set(await ask<WriteOf | null>(subject, "lastWrite", { step: here.step, invocation: here.invocation, vaddr, len }));
    } catch (error) {
      set(error as Error);
    }
    setBusy(false);
  };
  const shown = (text: string) => (text.length <= 2 ? `0x${text}` : `${text.slice(0, 64)}${text.length > 64 ? "…" : ""}${meaning(text) && ` (${meaning(text)})`}`);
  return (
    <div class="who" role="status">
      <span class="mono">{`0x${vaddr.toString(16)}`}</span>
      <select aria-label="Bytes" value={len} onChange={(event) => setLen(Number((event.target as HTMLSelectElement).value))}>
        {[1, 2, 4, 8, 32].map((it) => (
          <option key={it} value={it}>
            {counted(it, "byte")}
          </option>
        ))}
      </select>
      <button onClick={look} disabled={isBusy}>
        Who wrote {len === 1 ? "this byte" : "these bytes"} last?
      </button>
      {found instanceof Error && <Failure error={found} />}
      {found === null && <span>Nothing in this transaction: the bytes are as they were at its start.</span>}
      {found && !(found instanceof Error) && (
        <span>
          <span class="mono wrap">
            {shown(found.old)} → {shown(found.new)}
          </span>{" "}
          {found.builtin ? `by ${nameOf(found.builtin) ?? short(found.builtin)}` : found.syscall ? `by ${found.syscall}` : ""}
          {found.account && (
            <>
              , {found.account.part} of <Address of={found.account.pubkey} plain />
            </>
          )}{" "}
          <button onClick={() => go(found.step)}>Go to step {count(found.step)}</button>
        </span>
      )}
    </div>
  );
}

function Fields({ subject, step, look }: { subject: Subject; step: number; look: (vaddr: number) => void }) {
  const PART = 500;
  const [total, setTotal] = useState(PART);
  const [error, setError] = useState("");
  const of = `${subject.name} ${step}`;
  const parts = useParts<FieldOf[]>(PART);
  const load = async (part: number) => {
    const it = await ask<{ fields: FieldOf[]; total: number; error: string | null }>(subject, "input", { step, from: part * PART });
    setTotal(it.total);
    setError(it.error ?? "");
    return it.fields;
  };
  return (
    <>
      <Virtual
        class="fields-list"
        label="Fields of the input"
        rows={total}
        when={step}
        seen={(first, last) => parts.need(of, first, last, each(load))}
        row={(index) => {
          const it = parts.part(of, index)?.[index % PART];
          return (
            <div key={index} class="field-row">
              {it && (
                <>
                  <button tabIndex={-1} class="mono" onClick={() => look(Number(it.vaddr))}>
                    {it.vaddr}
                  </button>
                  <b>{it.path}</b>
                  <span class="mono">{it.value ?? counted(it.len, "byte")}</span>
                  <i>{it.note}</i>
                </>
              )}
            </div>
          );
        }}
      />
      {error && <p class="faint pane-note">{error}</p>}
    </>
  );
}
