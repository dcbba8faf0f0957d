// What a real cluster would never let one do: lamports, time, blocks, snapshots.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isAddress } from "./bytes";
import { count, short, time } from "./format";
import { param } from "./router";
import { askSlot, rpc, stringify, watchSlot } from "./rpc";
import { Facts, Json, useLoad } from "./ui";

interface Epoch {
  absoluteSlot: number;
  epoch: number;
  slotIndex: number;
  slotsInEpoch: number;
  blockHeight: number;
  transactionCount: number;
}

type Say = (text: ComponentChildren, isBad?: boolean) => void;
const LAMPORTS = 1_000_000_000;

/** Snapshots that were taken on this page, by genesis: the node does not list them. */
function keptSnapshots(): number[] {
  try {
    const kept = JSON.parse(sessionStorage.getItem("snapshots") ?? "[]");
    return Array.isArray(kept) ? kept.filter((it) => typeof it === "number") : [];
  } catch {
    return [];
  }
}

export function Controls() {
  const [said, setSaid] = useState<{ text: ComponentChildren; isBad: boolean }>();
  const epoch = useLoad(() => rpc<Epoch>("getEpochInfo", { commitment: "processed" }), "epoch");
  const clock = useLoad(async () => {
    const answer = await rpc<{ value: { data: { parsed: { info: { unixTimestamp: number } } } } }>("getAccountInfo", "SysvarC1ock11111111111111111111111111111111", {
      encoding: "jsonParsed",
      commitment: "processed",
    });
    return answer.value.data.parsed.info.unixTimestamp;
  }, "clock");
  const info = useLoad(() => rpc<Record<string, unknown>>("selkie_nodeInfo"), "info");
  const version = useLoad(() => rpc<Record<string, unknown>>("getVersion"), "version");
  useEffect(() => {
    return watchSlot(() => {
      epoch.reload();
      clock.reload();
    });
  }, []);
  const say: Say = (text, isBad = false) => setSaid({ text, isBad });
  const run = async (work: () => Promise<ComponentChildren>) => {
    try {
      say(await work());
    } catch (error) {
      say((error as Error).message, true);
    }
    askSlot();
    epoch.reload();
    clock.reload();
  };
  const at = epoch.value;
  return (
    <>
      <header class="page">
        <h1>Controls</h1>
      </header>
      <Facts
        rows={[
          ["Slot", <span class="number">{count(at?.absoluteSlot)}</span>],
          ["Epoch", <span class="number">{at ? `${count(at.epoch)}, slot ${count(at.slotIndex)} of ${count(at.slotsInEpoch)}` : "–"}</span>],
          ["Block height", <span class="number">{count(at?.blockHeight)}</span>],
          ["Transactions", <span class="number">{count(at?.transactionCount)}</span>],
          ["Clock", <span class="number">{clock.value === undefined ? "–" : time(clock.value)}</span>],
        ]}
      />
      <p class={said?.isBad ? "answer bad" : "answer"} role="status">
        {said?.text ?? "\u00a0"}
      </p>
      <div class="cards">
        <Faucet run={run} say={say} />
        <TokenFaucet run={run} say={say} />
        <Time run={run} say={say} />
        <Mining run={run} />
        <Features run={run} say={say} slot={at?.absoluteSlot} />
        <Snapshots run={run} />
        <Reset run={run} />
      </div>
      {info.value && <Json value={{ ...info.value, ...version.value }} title="selkie_nodeInfo, getVersion" />}
      {info.error && <p class="notice bad">Cheatcodes are closed to this page: {info.error.message}</p>}
    </>
  );
}

type Run = (work: () => Promise<ComponentChildren>) => Promise<void>;

function Card(props: { title: string; about: string; children: ComponentChildren; submit?: () => void }) {
  return (
    <form
      class="card"
      aria-label={props.title}
      onSubmit={(event) => {
        event.preventDefault();
        props.submit?.();
      }}
    >
      <h2>{props.title}</h2>
      <p class="faint">{props.about}</p>
      {props.children}
    </form>
  );
}

const text = (event: Event) => (event.target as HTMLInputElement).value;

function Faucet({ run, say }: { run: Run; say: Say }) {
  const [to, setTo] = useState(param("to"));
  const [amount, setAmount] = useState("5");
  const submit = () => {
    const lamports = Math.round(Number(amount) * LAMPORTS);
    if (!isAddress(to.trim())) return say("The receiver is no address.", true);
    if (!(lamports > 0) || !Number.isSafeInteger(lamports)) return say("The amount is no positive number of SOL.", true);
    void run(async () => {
      const signature = await rpc<string>("requestAirdrop", to.trim(), lamports);
      return (
        <>
          Sent {amount} SOL to <a href={`/address/${to.trim()}`}>{short(to.trim())}</a> by <a href={`/tx/${signature}`}>{short(signature)}</a>
        </>
      );
    });
  };
  return (
    <Card title="Faucet" about="Lamports for any address." submit={submit}>
      <label>
        Receiver
        <input value={to} onInput={(event) => setTo(text(event))} placeholder="Address" spellcheck={false} required />
      </label>
      <label>
        SOL
        <input value={amount} onInput={(event) => setAmount(text(event))} inputMode="decimal" required />
      </label>
      <button class="main">Airdrop</button>
    </Card>
  );
}

function TokenFaucet({ run, say }: { run: Run; say: Say }) {
  const [owner, setOwner] = useState(param("to"));
  const [mint, setMint] = useState("");
  const [amount, setAmount] = useState("100");
  const submit = () => {
    if (!isAddress(owner.trim()) || !isAddress(mint.trim())) return say("The owner or the mint is no address.", true);
    void run(async () => {
      const supply = await rpc<{ value: { decimals: number } }>("getTokenSupply", mint.trim());
      const units = toUnits(amount, supply.value.decimals);
      const found = await rpc<{ value: { owner: string } }>("getAccountInfo", mint.trim(), { encoding: "base64", dataSlice: { offset: 0, length: 0 } });
      const answer = await rpc<{ value: string }>("selkie_setTokenAccount", owner.trim(), mint.trim(), { amount: units }, found.value.owner);
      return (
        <>
          <a href={`/address/${answer.value}`}>{short(answer.value)}</a> now holds {amount} tokens
        </>
      );
    });
  };
  return (
    <Card title="Tokens" about="Sets how many tokens of a mint an owner holds." submit={submit}>
      <label>
        Owner
        <input value={owner} onInput={(event) => setOwner(text(event))} placeholder="Address" spellcheck={false} required />
      </label>
      <label>
        Mint
        <input value={mint} onInput={(event) => setMint(text(event))} placeholder="Address" spellcheck={false} required />
      </label>
      <label>
        Amount
        <input value={amount} onInput={(event) => setAmount(text(event))} inputMode="decimal" required />
      </label>
      <button class="main">Set</button>
    </Card>
  );
}

/** A decimal number as an integer of the smallest units, without rounding. */
function toUnits(amount: string, decimals: number): number {
  const found = /^(\d+)(?:\.(\d+))?$/.exec(amount.trim());
  if (!found || (found[2]?.length ?? 0) > decimals) throw new Error(`The amount is no number with at most ${decimals} decimals.`);
  const units = Number(found[1] + (found[2] ?? "").padEnd(decimals, "0"));
  if (!Number.isSafeInteger(units)) throw new Error("The amount is too large.");
  return units;
}

function Time({ run, say }: { run: Run; say: Say }) {
  const [kind, setKind] = useState("slot");
  const [value, setValue] = useState("");
  const submit = () => {
    const target = kind === "timestamp" && /\D/.test(value) ? Math.floor(Date.parse(value) / 1000) : Number(value);
    if (!value || !Number.isSafeInteger(target)) return say(`The ${kind} is no number.`, true);
    void run(async () => {
      const at = await rpc<Epoch>("selkie_timeTravel", { [kind]: target });
      return `Now in slot ${count(at.absoluteSlot)}, epoch ${count(at.epoch)}`;
    });
  };
  const clock = (method: string, done: string) => () =>
    void run(async () => {
      await rpc(method);
      return done;
    });
  return (
    <Card title="Time" about="Forward only; a snapshot leads back." submit={submit}>
      <label>
        Go to
        <select value={kind} onChange={(event) => setKind(text(event))}>
          <option value="slot">slot</option>
          <option value="epoch">epoch</option>
          <option value="timestamp">time (Unix or ISO 8601)</option>
        </select>
      </label>
      <label>
        {kind === "timestamp" ? "Time" : "Number"}
        <input value={value} onInput={(event) => setValue(text(event))} required spellcheck={false} />
      </label>
      <div class="tools start">
        <button class="main">Go</button>
        <button type="button" onClick={clock("selkie_pauseClock", "The clock stands still")}>
          Stop clock
        </button>
        <button type="button" onClick={clock("selkie_resumeClock", "The clock runs")}>
          Resume
        </button>
      </div>
    </Card>
  );
}

function Mining({ run }: { run: Run }) {
  const [mode, setMode] = useState("onDemand");
  const [blocks, setBlocks] = useState("1");
  const submit = () =>
    void run(async () => {
      await rpc("selkie_setBlockMode", mode);
      return { onDemand: "Blocks are made when transactions arrive", interval: "A block is made in each slot", manual: "Blocks are made when you ask" }[mode];
    });
  const mine = () => void run(async () => `Mined up to slot ${count(await rpc<number>("selkie_mine", Number(blocks) || 1))}`);
  return (
    <Card title="Blocks" about="When they are made." submit={submit}>
      <label>
        Mode
        <select value={mode} onChange={(event) => setMode(text(event))}>
          <option value="onDemand">when transactions arrive</option>
          <option value="interval">in each slot</option>
          <option value="manual">when asked</option>
        </select>
      </label>
      <label>
        Mine now
        <input value={blocks} onInput={(event) => setBlocks(text(event))} inputMode="numeric" />
      </label>
      <div class="tools start">
        <button class="main">Set mode</button>
        <button type="button" onClick={mine}>
          Mine
        </button>
      </div>
    </Card>
  );
}

function Features({ run, say, slot }: { run: Run; say: Say; slot?: number }) {
  const [feature, setFeature] = useState("");
  const [from, setFrom] = useState("");
  const submit = () => {
    const start = from.trim() ? Number(from) : (slot ?? 0);
    if (!isAddress(feature.trim())) return say("The feature is no address.", true);
    if (!Number.isSafeInteger(start) || start < 0) return say("The slot is no number.", true);
    void run(async () => {
      await rpc("selkie_setFeature", feature.trim(), start);
      return (
        <>
          <a href={`/address/${feature.trim()}`}>{short(feature.trim())}</a> is active from the first block at or after slot {count(start)}
        </>
      );
    });
  };
  return (
    <Card title="Features" about="Switches a feature gate on." submit={submit}>
      <label>
        Feature
        <input value={feature} onInput={(event) => setFeature(text(event))} placeholder="Address" spellcheck={false} required />
      </label>
      <label>
        From slot
        <input value={from} onInput={(event) => setFrom(text(event))} placeholder={slot === undefined ? "" : String(slot)} inputMode="numeric" />
      </label>
      <button class="main">Activate</button>
    </Card>
  );
}

function Snapshots({ run }: { run: Run }) {
  const [snapshots, setSnapshots] = useState(keptSnapshots);
  const keep = (all: number[]) => {
    setSnapshots(all);
    try {
      sessionStorage.setItem("snapshots", JSON.stringify(all));
    } catch {
      // They are known until the page is closed.
    }
  };
  const take = () =>
    void run(async () => {
      const taken = await rpc<number>("selkie_snapshot");
      keep([...snapshots, taken]);
      return `Took snapshot ${taken}`;
    });
  const revert = (it: number) =>
    void run(async () => {
      const slot = await rpc<number>("selkie_revert", it).catch((error) => {
        keep(snapshots.filter((other) => other !== it));
        throw error;
      });
      keep(snapshots.filter((other) => other < it));
      return `Back at snapshot ${it}, slot ${count(slot)}`;
    });
  return (
    <Card title="Snapshots" about="Take one before an experiment, and go back after it; that uses it up." submit={take}>
      {snapshots.length > 0 && (
        <ul class="list">
          {snapshots.map((it) => (
            <li key={it}>
              Snapshot {it}
              <button type="button" onClick={() => revert(it)}>
                Revert
              </button>
            </li>
          ))}
        </ul>
      )}
      <button class="main">Take a snapshot</button>
    </Card>
  );
}

function Reset({ run }: { run: Run }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const reset = () => {
    dialog.current?.close();
    void run(async () => `Back at genesis, slot ${stringify(await rpc<number>("selkie_reset"))}`);
  };
  return (
    <Card title="Reset" about="Back to the genesis: all accounts and transactions of yours are gone." submit={() => dialog.current?.showModal()}>
      <button class="danger">Reset…</button>
      <dialog ref={dialog} aria-label="Reset the node">
        <p>This takes all accounts and transactions away that came after the genesis.</p>
        <div class="tools start">
          <button type="button" class="danger" onClick={reset}>
            Reset the node
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </dialog>
    </Card>
  );
}
