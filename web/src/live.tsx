// The newest transactions, as they land.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isAddress } from "./bytes";
import { count, explainError, instructionName, nameOf } from "./format";
import { withNames } from "./names";
import { go, param, setParam } from "./router";
import { rpc, subscribe } from "./rpc";
import type { Err, Landed } from "./types";
import { Address, Failure, Mark, Signature, Status, useKeys, When } from "./ui";

/** The transactions that are kept. */
const KEPT = 1000;
/** The rows of the page. */
const SHOWN = 100;
/** The requests for details at a time. */
const ASKED = 4;

export interface Row {
  signature: string;
  slot: number;
  err: Err | null;
  logs: string[];
}

/** The programs that a log names, the outermost ones first. */
export function programsOf(logs: string[]): string[] {
  const found = new Set<string>();
  for (const depth of [true, false]) {
    for (const line of logs) {
      const invoked = /^Program (\w{32,44}) invoke \[(\d+)\]$/.exec(line);
      if (invoked && (invoked[2] === "1") === depth) found.add(invoked[1]);
    }
  }
  return [...found];
}

const details = new Map<string, Landed>();
const waiting: string[] = [];
const watchers = new Set<() => void>();
let asked = 0;

/** What a transaction consists of, once it is known. */
function useDetails(signatures: string[]) {
  const [, redraw] = useState(0);
  const key = signatures.join();
  useEffect(() => {
    const watch = () => redraw((it) => it + 1);
    watchers.add(watch);
    waiting.splice(0, waiting.length, ...signatures.filter((it) => !details.has(it)));
    ask();
    return () => void watchers.delete(watch);
  }, [key]);
}

function ask() {
  while (asked < ASKED && waiting.length > 0) {
    const signature = waiting.shift()!;
    asked++;
    rpc<Landed | null>("getTransaction", signature, OPTIONS)
      .then((landed) => landed && withNames(landed))
      .then((landed) => {
        if (!landed) return;
        if (details.size > 2 * KEPT) details.clear();
        details.set(signature, landed);
      })
      .catch(() => {})
      .finally(() => {
        asked--;
        for (const watch of watchers) watch();
        ask();
      });
  }
}

export const OPTIONS = { encoding: "jsonParsed", commitment: "confirmed", maxSupportedTransactionVersion: 255 };

/** Returns whether a row has what was typed: in an address, a name, a log line or its error. */
function matches(row: Row, text: string): boolean {
  if (!text) return true;
  const wanted = text.toLowerCase();
  const has = (it: string | undefined) => it?.toLowerCase().includes(wanted);
  if (has(row.signature) || row.logs.some(has)) return true;
  if (row.err && (has(explainError(row.err).name) || has(JSON.stringify(row.err)))) return true;
  const known = details.get(row.signature);
  if (has(known?.errorName) || known?.transaction.message.instructions.some((it) => has(instructionName(it)))) return true;
  const keys = known?.transaction.message.accountKeys.map((it) => it.pubkey) ?? programsOf(row.logs);
  return keys.some((it) => has(it) || has(nameOf(it)));
}

export function Live() {
  const [rows, setRows] = useState<Row[]>();
  const [error, setError] = useState<Error>();
  const [round, setRound] = useState(0);
  const [text, setText] = useState(param("filter"));
  const [onlyFailed, setFailed] = useState(param("failed") === "1");
  const [isPaused, setPaused] = useState(false);
  const held = useRef<Row[]>([]);
  const paused = useRef(false);
  const [heldCount, setHeldCount] = useState(0);
  const filter = useRef<HTMLInputElement>(null);
  // The node itself finds the transactions of an address, beyond the newest ones.
  const address = isAddress(text.trim()) ? text.trim() : "";

  useLayoutEffect(() => {
    let isCurrent = true;
    let frame = 0;
    let arrived: Row[] = [];
    setRows(undefined);
    setError(undefined);
    held.current = [];
    setHeldCount(0);
    const add = (more: Row[]) => {
      const keep = (old: Row[]) => {
        const known = new Set(old.map((it) => it.signature));
        return [...more.filter((it) => !known.has(it.signature)), ...old].slice(0, KEPT);
      };
      if (paused.current) {
        held.current = keep(held.current);
        setHeldCount(held.current.length);
      } else setRows((old) => keep(old ?? []));
    };
    const selection = address ? { mentions: [address] } : "all";
    const end = subscribe("logs", [selection, { commitment: "processed" }], ({ context, value }) => {
      arrived.unshift({ signature: value.signature, slot: context.slot, err: value.err, logs: value.logs });
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        add(arrived);
        arrived = [];
      });
    });
    newest(address).then(
      (old) => isCurrent && setRows((young = []) => merge(young, old)),
      (failure: Error) => isCurrent && setError(failure),
    );
    return () => {
      isCurrent = false;
      cancelAnimationFrame(frame);
      end();
    };
  }, [address, round]);

  const pause = () => {
    paused.current = !isPaused;
    setPaused(!isPaused);
    if (isPaused) {
      const more = held.current;
      held.current = [];
      setHeldCount(0);
      setRows((old) => merge(more, old ?? []));
    }
  };
  const showFailed = () => {
    setParam("failed", onlyFailed ? "" : "1");
    setFailed(!onlyFailed);
  };
  useKeys({ p: pause, e: showFailed, f: () => filter.current?.focus() });

  const found = (rows ?? []).filter((it) => (!onlyFailed || it.err) && (address || matches(it, text.trim())));
  const shown = found.slice(0, SHOWN);
  return (
    <>
      <header class="page">
        <h1>Transactions</h1>
        <div class="tools">
          <input
            ref={filter}
            class="filter"
            type="search"
            value={text}
            placeholder="Program, address, error or log"
            aria-label="Filter by program, address, error or log"
            spellcheck={false}
            onKeyDown={(event) => event.key === "Escape" && filter.current?.blur()}
            onInput={(event) => {
              const value = (event.target as HTMLInputElement).value;
              setText(value);
              setParam("filter", value);
            }}
          />
          <button aria-pressed={onlyFailed} onClick={showFailed}>
            Failed
          </button>
          <button aria-pressed={isPaused} onClick={pause} class="pause">
            {isPaused ? `Follow${heldCount ? ` (${heldCount} new)` : ""}` : "Pause"}
          </button>
        </div>
      </header>
      {error ? (
        <Failure error={error} retry={() => setRound((it) => it + 1)} />
      ) : rows && rows.length === 0 ? (
        <Welcome />
      ) : (
        <Rows rows={shown} isLoading={!rows} />
      )}
      {rows && rows.length > 0 && found.length === 0 && (
        <p class="empty">None of the newest {count(rows.length)} transactions match.</p>
      )}
      {found.length > SHOWN && (
        <p class="faint after">
          The newest {SHOWN} of {count(found.length)}. Filter to find others.
        </p>
      )}
    </>
  );
}

async function newest(address: string): Promise<Row[]> {
  if (!address) {
    // Cheatcodes may be closed to this page; then the list begins with what lands from now on.
    const answer = await rpc<{ value: Row[] }>("selkie_recentTransactions", SHOWN).catch((error) => {
      if (error.code === 0) throw error;
      return { value: [] };
    });
    return answer.value.map((it) => ({ ...it, logs: it.logs ?? [] }));
  }
  const found = await rpc<{ signature: string; slot: number; err: Err | null }[]>("getSignaturesForAddress", address, {
    limit: SHOWN,
    commitment: "confirmed",
  });
  return found.map((it) => ({ ...it, logs: [] }));
}

function merge(young: Row[], old: Row[]): Row[] {
  const known = new Set(young.map((it) => it.signature));
  return [...young, ...old.filter((it) => !known.has(it.signature))].slice(0, KEPT);
}

function Welcome() {
  return (
    <div class="empty welcome">
      <h2>Waiting for the first transaction</h2>
      <p>
        Send one to <code>{location.origin}</code>, or get lamports from the <a href="/controls">faucet</a>. What lands appears
        here at once.
      </p>
      <pre tabIndex={0}>
        <code>$ selkie airdrop 5 --url localhost</code>
      </pre>
    </div>
  );
}

export function Rows({ rows, isLoading }: { rows: Row[]; isLoading?: boolean }) {
  useDetails(rows.map((it) => it.signature));
  const most = Math.max(1, ...rows.map((it) => details.get(it.signature)?.meta.computeUnitsConsumed ?? 0));
  return (
    <div class="rows" role="table" aria-label="Transactions" aria-busy={isLoading}>
      <div class="row head" role="row">
        <span role="columnheader">Result</span>
        <span role="columnheader">Signature</span>
        <span role="columnheader">What</span>
        <span role="columnheader" class="right">
          Compute units
        </span>
        <span role="columnheader" class="right">
          Slot
        </span>
        <span role="columnheader" class="right">
          Time
        </span>
      </div>
      {isLoading &&
        Array.from({ length: 8 }, (_, index) => (
          <div key={index} class="row ghost" role="presentation">
            <i />
          </div>
        ))}
      {rows.map((it) => (
        <RowView key={it.signature} row={it} most={most} />
      ))}
    </div>
  );
}

function RowView({ row, most }: { row: Row; most: number }) {
  const landed = details.get(row.signature);
  const err = row.err ? explainError(row.err) : undefined;
  const units = landed?.meta.computeUnitsConsumed;
  const open = () => go(`/tx/${row.signature}`);
  return (
    <div
      class={row.err ? "row bad" : "row"}
      role="row"
      data-row
      tabIndex={0}
      aria-label={`${row.err ? "Failed" : "Succeeded"} transaction ${row.signature.slice(0, 8)}`}
      onKeyDown={(event) => event.key === "Enter" && event.target === event.currentTarget && open()}
      onClick={(event) => !(event.target as Element).closest("a, button") && !getSelection()?.toString() && open()}
    >
      <span role="cell">
        <Status isOk={!row.err} text={row.err ? "Failed" : "OK"} />
      </span>
      <span role="cell">
        <Signature of={row.signature} />
      </span>
      <span role="cell" class="what">
        <What row={row} landed={landed} />
        {err && <span class="why">{landed?.errorName ? `${landed.errorName.split(":")[0]} (${err.code ?? err.name})` : err.name}</span>}
      </span>
      <span role="cell" class="right units">
        <span class="number">{units === undefined ? "–" : count(units)}</span>
        <i class="bar" style={{ "--part": String((units ?? 0) / most) }} aria-hidden="true" />
      </span>
      <span role="cell" class="right">
        <a class="number" href={`/block/${row.slot}`}>
          {count(row.slot)}
        </a>
      </span>
      <span role="cell" class="right faint">
        <When at={landed?.blockTime} />
      </span>
    </div>
  );
}

/** The programs of a transaction, each with its instructions. */
function What({ row, landed }: { row: Row; landed?: Landed }) {
  const instructions = landed?.transaction.message.instructions.filter(
    (it) => it.programId !== "ComputeBudget111111111111111111111111111111" || landed.transaction.message.instructions.length === 1,
  );
  const items = instructions ?? programsOf(row.logs).map((programId) => ({ programId }));
  return (
    <>
      {items.slice(0, 3).map((it, index) => (
        <span class="call" key={index}>
          <Mark address={it.programId} />
          <Address of={it.programId} plain />
          {instructions && <span class="faint">{instructionName(it)}</span>}
        </span>
      ))}
      {items.length > 3 && <span class="faint">and {items.length - 3} more</span>}
    </>
  );
}
