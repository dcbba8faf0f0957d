// Blocks: the newest ones as they are made, and one with its transactions.

import { useEffect } from "preact/hooks";
import { count, counted, short } from "./format";
import { Rows } from "./live";
import { go } from "./router";
import { rpc, rpcEach, watchSlot } from "./rpc";
import type { Err } from "./types";
import { later } from "./time";
import { Address, Copy, Facts, Json, Loaded, Section, useKeys, useLoad, When } from "./ui";

/** How many rows are shown at least, if there are as many, and how many blocks are looked at for them at most. */
const SHOWN = 40;
const LOOKED_AT = 400;
const AT_ONCE = 100;

interface Block {
  blockhash: string;
  previousBlockhash: string;
  parentSlot: number;
  blockHeight: number;
  blockTime: number | null;
  signatures?: string[];
}

const DETAILS = {
  transactionDetails: "signatures",
  rewards: false,
  commitment: "confirmed",
  maxSupportedTransactionVersion: 255,
};

const get = (slot: number) => rpc<Block | null>("getBlock", slot, DETAILS);

/** Blocks by slot, until the node goes back to an earlier state. */
const known = new Map<number, Block>();
let highest = 0;

/** A block with transactions, or several without any, one after the other: the newest one and how many. */
interface Fold {
  slot: number;
  block: Block;
  empty: number;
  last: number;
}

async function newest(): Promise<Fold[]> {
  const slot = await rpc<number>("getSlot", { commitment: "confirmed" });
  if (slot < highest) known.clear();
  highest = slot;
  let slots: number[] = [];
  // On demand, blocks are far between: look further back until there are enough.
  for (let span = LOOKED_AT; ; span *= 16) {
    slots = await rpc<number[]>("getBlocks", Math.max(0, slot - span), slot, { commitment: "confirmed" });
    if (slots.length >= LOOKED_AT || span >= slot || span > 400_000) break;
  }
  const wanted = slots.slice(-LOOKED_AT).reverse();
  const folds: Fold[] = [];
  for (let at = 0; at < wanted.length && folds.length < SHOWN; at += AT_ONCE) {
    const part = wanted.slice(at, at + AT_ONCE);
    const missing = part.filter((it) => !known.has(it));
    const found = await rpcEach<Block>("getBlock", missing.map((it) => [it, DETAILS]));
    found.forEach((block, index) => block && known.set(missing[index], block));
    for (const slot of part) {
      const block = known.get(slot);
      if (!block) continue;
      const before = folds.at(-1);
      if (block.signatures?.length || !before?.empty) folds.push({ slot, block, empty: block.signatures?.length ? 0 : 1, last: slot });
      else {
        before.empty++;
        before.last = slot;
      }
    }
  }
  return folds;
}

export function Blocks() {
  const blocks = useLoad(newest, "blocks");
  useEffect(() => {
    return watchSlot(later(blocks.reload, 400));
  }, []);
  return (
    <>
      <header class="page">
        <h1>Blocks</h1>
      </header>
      <Loaded of={blocks} lines={10}>
        {(rows) => (
          <div class="rows blocks" role="table" aria-label="Blocks">
            <div class="row head" role="row">
              <span role="columnheader">Slot</span>
              <span role="columnheader">Blockhash</span>
              <span role="columnheader" class="right">Height</span>
              <span role="columnheader" class="right">Transactions</span>
              <span role="columnheader" class="right">Time</span>
            </div>
            {rows.map(({ slot, block, empty, last }) => (
              <div
                key={`${last} ${empty}`}
                class={empty ? "row empty-blocks" : "row"}
                role="row"
                data-row
                tabIndex={0}
                aria-label={empty > 1 ? `${empty} empty blocks, the newest in slot ${slot}` : `Block in slot ${slot}`}
                onKeyDown={(event) => event.key === "Enter" && event.target === event.currentTarget && go(`/block/${slot}`)}
                onClick={(event) => !(event.target as Element).closest("a, button") && go(`/block/${slot}`)}
              >
                <span role="cell">
                  <a class="number" href={`/block/${slot}`}>{count(slot)}</a>
                </span>
                <span role="cell" class="mono faint">
                  {empty > 1 ? <span class="folded">and {counted(empty - 1, "more empty block")}, to slot {count(last)}</span> : short(block.blockhash, 8)}
                </span>
                <span role="cell" class="right number">{count(block.blockHeight)}</span>
                <span role="cell" class="right number">{empty ? "–" : count(block.signatures?.length ?? 0)}</span>
                <span role="cell" class="right faint"><When at={block.blockTime} /></span>
              </div>
            ))}
          </div>
        )}
      </Loaded>
    </>
  );
}

export function BlockView({ slot }: { slot: number }) {
  const block = useLoad(async () => {
    const found = await get(slot);
    if (!found) throw new Error(`Slot ${slot} has no block: no transaction landed in it.`);
    const leader = await rpc<string[]>("getSlotLeaders", slot, 1).catch(() => []);
    const statuses: { slot: number; err: Err | null }[] = [];
    const signatures = found.signatures ?? [];
    for (let at = 0; at < Math.min(signatures.length, 1024); at += 256) {
      const part = signatures.slice(at, at + 256);
      const answer = await rpc<{ value: ({ slot: number; err: Err | null } | null)[] }>("getSignatureStatuses", part, { searchTransactionHistory: true });
      statuses.push(...answer.value.map((it) => it ?? { slot, err: null }));
    }
    return { block: found, leader: leader[0], rows: statuses.map((it, index) => ({ signature: signatures[index], slot, err: it.err, logs: [] })) };
  }, String(slot));
  const next = async (by: number) => {
    const newest = await rpc<number>("getSlot");
    const found = by > 0 ? await rpc<number[]>("getBlocksWithLimit", slot + 1, 1).catch(() => []) : [block.value?.block.parentSlot ?? slot - 1];
    const to = found[0];
    if (to !== undefined && to >= 0 && to <= newest) go(`/block/${to}`);
  };
  useKeys({ "[": () => void next(-1), "]": () => void next(1) });
  return (
    <>
      <header class="page">
        <h1>
          Block <span class="number">{count(slot)}</span>
        </h1>
        <div class="tools">
          <button onClick={() => void next(-1)}>Previous</button>
          <button onClick={() => void next(1)}>Next</button>
        </div>
      </header>
      <Loaded of={block} lines={6}>
        {(it) => (
          <>
            <Facts
              rows={[
                ["Time", <When at={it.block.blockTime} />],
                ["Height", <span class="number">{count(it.block.blockHeight)}</span>],
                ["Parent", <a class="number" href={`/block/${it.block.parentSlot}`}>{count(it.block.parentSlot)}</a>],
                ["Leader", it.leader ? <Address of={it.leader} /> : "–"],
                ["Blockhash", <span class="address"><span class="mono wrap">{it.block.blockhash}</span><Copy text={it.block.blockhash} label="blockhash" /></span>],
              ]}
            />
            <Section title="Transactions" aside={count(it.rows.length)}>
              {it.rows.length ? <Rows rows={it.rows.slice(0, 200)} /> : <p class="faint">The block has no transactions.</p>}
              {it.rows.length > 200 && <p class="faint after">The first 200 of {count(it.rows.length)}.</p>}
            </Section>
            <Json value={it.block} title="getBlock" />
          </>
        )}
      </Loaded>
    </>
  );
}
