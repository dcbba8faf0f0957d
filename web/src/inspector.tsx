// A transaction that has not landed: decoded, and simulated on the node's newest state.

import { useEffect, useState } from "preact/hooks";
import { base58, hex } from "./bytes";
import { Calls } from "./calls";
import { Edit } from "./edit";
import { count, explainError, nameOf, short, title } from "./format";
import { decode, type Message } from "./message";
import { describeAccount, nameCalls, nameInstructions } from "./names";
import { param, setParam } from "./router";
import { RpcError, rpc } from "./rpc";
import { Balances, Diffs } from "./transaction";
import type { Account, Described, Landed, Parsed, Trace } from "./types";
import { Address, Copy, Decoded, Facts, Failure, Json, Loaded, Mark, Section, Status, useLoad } from "./ui";

/** Longer transactions are not put into the address. */
const LINK_MAX = 4000;

interface Simulated {
  trace: Trace;
  keys: string[];
  inner?: { index: number; instructions: Parsed[] }[];
}

export function Inspector() {
  const [text, setText] = useState(param("transaction"));
  const [message, setMessage] = useState<Message>();
  const [problem, setProblem] = useState("");
  const [simulated, setSimulated] = useState<Simulated>();
  const [before, setBefore] = useState<Simulated>();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [sent, setSent] = useState("");

  const read = (text: string) => {
    setSimulated(undefined);
    setBefore(undefined);
    setError(undefined);
    setSent("");
    setParam("transaction", text.length < LINK_MAX ? text.trim() : "");
    if (!text.trim()) {
      setMessage(undefined);
      setProblem("");
      return;
    }
    try {
      setMessage(decode(text));
      setProblem("");
    } catch (error) {
      setMessage(undefined);
      setProblem((error as Error).message);
    }
  };
  useEffect(() => read(text), []);

  const simulate = async () => {
    if (!message) return;
    setBusy(true);
    setError(undefined);
    try {
      const options = { encoding: "base64", sigVerify: false, replaceRecentBlockhash: true, innerInstructions: true };
      const [trace, answer] = await Promise.all([
        rpc<Trace>("selkie_profileTransaction", message.transaction, { encoding: "base64" }),
        rpc<{ value: { innerInstructions?: Simulated["inner"]; loadedAddresses?: { writable: string[]; readonly: string[] } } }>(
          "simulateTransaction",
          message.transaction,
          options,
        ),
      ]);
      const loaded = answer.value.loadedAddresses;
      const keys = [...message.keys.map((it) => it.pubkey), ...(loaded?.writable ?? []), ...(loaded?.readonly ?? [])];
      await nameCalls(trace);
      setBefore(simulated);
      setSimulated({ trace, keys, inner: answer.value.innerInstructions });
    } catch (error) {
      setError(error as Error);
    }
    setBusy(false);
  };
  const send = async () => {
    if (!message) return;
    setError(undefined);
    try {
      setSent(await rpc<string>("sendTransaction", message.transaction, { encoding: "base64", skipPreflight: true }));
    } catch (error) {
      setError(error as Error);
    }
  };
  const isSigned = message?.signatures.length && message.signatures.every((it) => !/^1+$/.test(it));
  return (
    <>
      <header class="page">
        <h1>Inspector</h1>
      </header>
      <label class="paste">
        <span>A transaction or a message, in base64, base58 or hexadecimal</span>
        <textarea
          rows={5}
          value={text}
          spellcheck={false}
          aria-invalid={!!problem}
          aria-describedby="paste-hint"
          onInput={(event) => {
            const value = (event.target as HTMLTextAreaElement).value;
            setText(value);
            read(value);
          }}
        />
      </label>
      <p id="paste-hint" class={problem ? "hint bad" : "hint"} role="status">
        {problem || (message ? `${count(atob(message.transaction).length)} bytes, ${count(message.instructions.length)} instructions` : "")}
      </p>
      {message && (
        <>
          <div class="tools start">
            <button class="main" onClick={() => void simulate()} disabled={isBusy}>
              {isBusy ? "Simulating…" : simulated ? "Simulate again" : "Simulate"}
            </button>
            {isSigned ? <button onClick={() => void send()}>Send</button> : <span class="faint">It is not signed, so it can only be simulated.</span>}
            {simulated && text.length < LINK_MAX && (
              <>
                <a class="button" href={`/debug?transaction=${encodeURIComponent(message.transaction)}`}>
                  Steps
                </a>
                <a class="button" href={`/flame?transaction=${encodeURIComponent(message.transaction)}`}>
                  Compute units
                </a>
              </>
            )}
            {sent && <a href={`/tx/${sent}`}>Sent: {short(sent, 6)}</a>}
          </div>
          {error && <Failure error={error instanceof RpcError ? error : new Error(error.message)} retry={() => void simulate()} />}
          <Change message={message} />
          {simulated && before && <Compared before={before} after={simulated} />}
          {simulated && <Result it={simulated} />}
          <Shown message={message} />
        </>
      )}
    </>
  );
}

/** The state in which it is simulated: an account, or the time, is changed on the node. */
function Change({ message }: { message: Message }) {
  const [address, setAddress] = useState("");
  const [slot, setSlot] = useState("");
  const [said, setSaid] = useState<{ text: string; isBad?: boolean }>({ text: "" });
  const go = async () => {
    try {
      const at = await rpc<{ absoluteSlot: number }>("selkie_timeTravel", { slot: Number(slot.replace(/\s/g, "")) });
      setSaid({ text: `Now in slot ${count(at.absoluteSlot)}` });
    } catch (error) {
      setSaid({ text: (error as Error).message, isBad: true });
    }
  };
  return (
    <details class="change">
      <summary>Change accounts or time</summary>
      <p class="faint">
        The node itself is changed. <a href="/controls">A snapshot</a> that is taken before leads back.
      </p>
      <div class="tools start">
        <select aria-label="Account to change" value={address} onChange={(event) => setAddress((event.target as HTMLSelectElement).value)}>
          <option value="">Choose an account</option>
          {message.keys.map((it) => (
            <option key={it.pubkey} value={it.pubkey}>
              {nameOf(it.pubkey) ?? it.pubkey}
            </option>
          ))}
        </select>
        <input aria-label="Slot to go to" placeholder="Slot" inputMode="numeric" value={slot} onInput={(event) => setSlot((event.target as HTMLInputElement).value)} />
        <button onClick={() => void go()} disabled={!/^[\d\s]+$/.test(slot)}>
          Go to the slot
        </button>
      </div>
      {address && <ChangeAccount key={address} address={address} done={(text) => (setAddress(""), setSaid({ text }))} />}
      <p class={said.isBad ? "hint bad" : "hint"} role="status">
        {said.text}
      </p>
    </details>
  );
}

function ChangeAccount({ address, done }: { address: string; done: (text: string) => void }) {
  const found = useLoad(async () => {
    const get = rpc<{ value: Account | null }>("getAccountInfo", address, { encoding: "base64", commitment: "processed" });
    const [account, described] = await Promise.all([get, describeAccount(address)]);
    return { account: account.value, fields: described?.fields ?? [] };
  }, address);
  return (
    <Loaded of={found} lines={3}>
      {({ account, fields }) =>
        account ? (
          <Edit address={address} account={account} fields={fields} done={() => done(`Changed ${short(address)}: simulate again`)} />
        ) : (
          <p class="faint">
            There is no account at this address. <a href={`/controls?to=${address}`}>Give it lamports</a>, and it exists.
          </p>
        )
      }
    </Loaded>
  );
}

/** What is different from the simulation before. */
function Compared({ before, after }: { before: Simulated; after: Simulated }) {
  const result = ({ trace }: Simulated) => (trace.err ? explainError(trace.err).name : "Succeeded");
  const units = after.trace.computeUnits - before.trace.computeUnits;
  const balances = after.keys.filter((_, index) => after.trace.postBalances[index] !== before.trace.postBalances[index]);
  const diffs = ({ trace }: Simulated) => new Map(trace.accountDiffs.map((it) => [it.account, JSON.stringify(it)]));
  const [old, now] = [diffs(before), diffs(after)];
  const data = [...new Set([...old.keys(), ...now.keys()])].filter((it) => old.get(it) !== now.get(it));
  const names = (all: string[]) => (all.length ? all.map((it) => <Address key={it} of={it} plain />) : "the same");
  return (
    <Section title="Compared with the simulation before">
      <Facts
        rows={[
          ["Result", result(before) === result(after) ? "the same" : `${result(before)} → ${result(after)}`],
          ["Compute units", units === 0 ? "the same" : `${units > 0 ? "+" : "−"}${count(Math.abs(units))}`],
          ["Balances afterwards", <>{names(balances)}</>],
          ["Changes of data", <>{names(data)}</>],
        ]}
      />
    </Section>
  );
}

function Result({ it }: { it: Simulated }) {
  const { trace } = it;
  const error = trace.err ? explainError(trace.err) : undefined;
  const landed = { transaction: { message: { instructions: [] } }, meta: { innerInstructions: it.inner } } as unknown as Landed;
  return (
    <>
      <Facts
        rows={[
          ["Simulated", <Status isOk={!trace.err} />],
          ["Compute units", <span class="number">{count(trace.computeUnits)} of {count(trace.computeUnitLimit)}</span>],
        ]}
      />
      {error && (
        <section class="failure" aria-label="Failure">
          <h2>
            {error.instruction !== undefined && <a href={`#call-${error.instruction}`}>Instruction {error.instruction + 1}</a>}
            <span>{error.name}</span>
          </h2>
          {error.meaning && <p>{error.meaning}</p>}
          {trace.notes.map((it) => (
            <p key={it}>{it}</p>
          ))}
        </section>
      )}
      <Section title="Calls">
        <Calls key={String(trace.computeUnits)} trace={trace} landed={landed} />
      </Section>
      <Balances keys={it.keys} before={trace.preBalances} after={trace.postBalances} />
      <Diffs diffs={trace.accountDiffs} />
      <Json value={trace} title="selkie_profileTransaction" />
    </>
  );
}

function Shown({ message }: { message: Message }) {
  const key = (index: number) => message.keys[index]?.pubkey;
  const named = useLoad(
    () => nameInstructions(message.instructions.map((it) => ({ program: key(it.program) ?? "", data: base58(it.data), accounts: it.accounts.length }))),
    message.transaction,
  );
  const about = (index: number): Described | undefined => named.value?.[index] ?? undefined;
  return (
    <>
      <Section title="Instructions" aside={count(message.instructions.length)}>
        <ol class="instructions">
          {message.instructions.map((it, index) => (
            <li key={index} class="panel">
              <h3>
                <span class="number faint">{index + 1}</span>
                {key(it.program) ? (
                  <>
                    <Mark address={key(it.program)} />
                    <Address of={key(it.program)} />
                    {about(index) && <b>{title(about(index)!.name)}</b>}
                  </>
                ) : (
                  `account ${it.program}, of a lookup table`
                )}
              </h3>
              {Object.keys(about(index)?.info ?? {}).length > 0 && <Decoded value={about(index)!.info} />}
              <ol class="accounts">
                {it.accounts.map((at, place) => (
                  <li key={place}>
                    <span class="number faint">{place}</span>
                    {about(index)?.accounts[place] && <span class="role-name">{about(index)!.accounts[place]}</span>}
                    {key(at) ? <Address of={key(at)} /> : <span>account {at}, of a lookup table</span>}
                    <span class="tags">
                      {message.keys[at]?.signer && <i>signer</i>}
                      {message.keys[at]?.writable && <i>writable</i>}
                    </span>
                  </li>
                ))}
              </ol>
              {it.data.length > 0 && (
                <div class="code">
                  <Copy text={hex(it.data)} label="data in hexadecimal" />
                  <pre class="fold" tabIndex={0}>{hex(it.data).replace(/(.{8})/g, "$1 ")}</pre>
                </div>
              )}
            </li>
          ))}
        </ol>
      </Section>
      <Section title="Message">
        <Facts
          rows={[
            ["Version", String(message.version)],
            ["Fee payer", <Address of={message.keys[0].pubkey} />],
            ["Signatures", `${message.signatures.filter((it) => !/^1+$/.test(it)).length} of ${message.keys.filter((it) => it.signer).length}`],
            ["Blockhash", <span class="mono wrap">{message.recentBlockhash}</span>],
          ]}
        />
        <ol class="accounts after">
          {message.keys.map((it, index) => (
            <li key={index}>
              <span class="number faint">{index}</span>
              <Address of={it.pubkey} full />
              <span class="tags">
                {it.signer && <i>signer</i>}
                {it.writable && <i>writable</i>}
              </span>
            </li>
          ))}
          {message.lookups.map((it) => (
            <li key={it.table}>
              <span class="faint">table</span>
              <Address of={it.table} />
              <span class="faint">
                {it.writable.length} writable, {it.readonly.length} read-only
              </span>
            </li>
          ))}
        </ol>
      </Section>
    </>
  );
}
