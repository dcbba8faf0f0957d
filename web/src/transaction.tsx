// A transaction: what was called, what it cost, what changed, where it failed.

import { useState } from "preact/hooks";
import { Calls } from "./calls";
import { count, decimal, explainError, learnName, nameOf, signed, sol, time } from "./format";
import { OPTIONS } from "./live";
import { nameCalls, withNames } from "./names";
import { rpc } from "./rpc";
import type { Diff, Explained, Landed, Meta, TokenBalance, Trace } from "./types";
import { Address, Copy, Facts, Hex, Json, Loaded, meaning, Section, Signature, Status, useKeys, useLoad, When } from "./ui";

interface Everything {
  landed: Landed;
  trace?: Trace;
  explained?: Explained;
  problem?: Error;
}

/** How often a transaction is asked for that has not landed yet, and how long until it is asked for again. */
const TRIES = 5;
const TRY_MILLISECONDS = 400;

async function load(signature: string): Promise<Everything> {
  let landed: Landed | null = null;
  for (let tries = 0; !landed && tries < TRIES; tries++) {
    if (tries) await new Promise((done) => setTimeout(done, TRY_MILLISECONDS));
    landed = await rpc<Landed | null>("getTransaction", signature, OPTIONS);
  }
  if (!landed) {
    throw new Error("The node does not have this transaction: it has not landed, or is older than the history that is kept.");
  }
  let problem: Error | undefined;
  const trace = await rpc<Trace | null>("selkie_traceTransaction", signature).catch((error) => void (problem = error));
  await Promise.all([withNames(landed), trace && nameCalls(trace)]);
  return { landed, trace: trace ?? undefined, problem };
}

export function TransactionView({ signature }: { signature: string }) {
  const everything = useLoad(() => load(signature), signature);
  const explained = useLoad(
    async () => {
      if (!everything.value) return null;
      const it = await rpc<Explained | null>("selkie_explainTransaction", signature);
      for (const { program, name } of it?.invocations ?? []) if (name !== program) learnName(program, name);
      return it;
    },
    `${signature} ${!!everything.value}`,
  );
  // A failure is shown with its line: what is below it does not move when that is found.
  const isFound = !everything.value?.landed.meta.err || explained.value !== undefined || !!explained.error;
  const [isOpen, setOpen] = useState<boolean>();
  useKeys({ x: () => setOpen(!isOpen) });
  return (
    <>
      <header class="page">
        <h1>
          Transaction <Signature of={signature} full />
        </h1>
        <nav class="tools" aria-label="Views of this transaction">
          <a class="button" href={`/debug/${signature}`}>
            Steps
          </a>
          <a class="button" href={`/flame/${signature}`}>
            Compute units
          </a>
        </nav>
      </header>
      <Loaded of={isFound ? everything : { reload: everything.reload }} lines={12}>
        {(it) => (
          <>
            <Summary landed={it.landed} trace={it.trace} />
            {it.landed.meta.err && <Failed landed={it.landed} trace={it.trace} explained={explained} />}
            <Section title="Calls" aside={<Units trace={it.trace} isOpen={isOpen} toggle={() => setOpen(!isOpen)} />}>
              {it.trace ? (
                <Calls trace={it.trace} landed={it.landed} open={isOpen} />
              ) : (
                <p class="notice">The calls cannot be shown: {it.problem?.message ?? "the node keeps no trace of them"}.</p>
              )}
            </Section>
            <Balances
              keys={it.landed.transaction.message.accountKeys.map((key) => key.pubkey)}
              before={it.landed.meta.preBalances}
              after={it.landed.meta.postBalances}
            />
            <Tokens meta={it.landed.meta} keys={it.landed.transaction.message.accountKeys.map((key) => key.pubkey)} />
            {it.trace && <Diffs diffs={it.trace.accountDiffs} amounts={amountsOf(it.landed)} />}
            <Returned meta={it.landed.meta} />
            <Accounts landed={it.landed} />
            <Raw signature={signature} everything={it} explained={explained.value} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Units({ trace, isOpen, toggle }: { trace?: Trace; isOpen?: boolean; toggle: () => void }) {
  if (!trace) return null;
  return (
    <>
      <b class="number">{count(trace.computeUnits)}</b> of {count(trace.computeUnitLimit)} compute units
      <button class="small" onClick={toggle}>
        {isOpen ? "Close all" : "Open all"}
      </button>
    </>
  );
}

function Summary({ landed, trace }: { landed: Landed; trace?: Trace }) {
  const { meta, transaction } = landed;
  const signers = transaction.message.accountKeys.filter((it) => it.signer);
  const units = trace?.computeUnits ?? meta.computeUnitsConsumed;
  return (
    <Facts
      rows={[
        ["Result", <Status isOk={!meta.err} />],
        ["Slot", <a class="number" href={`/block/${landed.slot}`}>{count(landed.slot)}</a>],
        ["Time", <span title={time(landed.blockTime)}><When at={landed.blockTime} /></span>],
        ["Fee", <span class="number">{sol(meta.fee)} SOL</span>],
        ["Compute units", <span class="number">{count(units)}</span>],
        [signers.length === 1 ? "Signer" : "Signers", <>{signers.map((it) => <Address key={it.pubkey} of={it.pubkey} />)}</>],
        ["Version", String(landed.version)],
      ]}
    />
  );
}

function Failed(props: { landed: Landed; trace?: Trace; explained: { value?: Explained | null; error?: Error } }) {
  const error = explainError(props.landed.meta.err!);
  const it = props.explained.value;
  const name = it?.errorName?.replace(/^\((.*)\)$/, "$1") ?? props.landed.errorName;
  const sentences = [...new Set([...(it?.explanations ?? []), ...(props.trace?.notes ?? [])])];
  return (
    <section class="failure" aria-labelledby="failure">
      <h2 id="failure">
        {error.instruction !== undefined && <a href={`#call-${error.instruction}`}>Instruction {error.instruction + 1}</a>}
        <span>{name ? `${error.name}: ${name}` : error.name}</span>
      </h2>
      {error.meaning && <p>{error.meaning}</p>}
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      {it?.source ? <Source explained={it} signature={props.landed.transaction.signatures[0]} /> : it?.place[0] && <p class="mono wrap">{it.place[0]}</p>}
      {it && !it.source && it.steps > 0 && !it.place[0] && (
        <p class="faint">
          The program has no debug information on this machine. Build it by <code>selkie build</code> in the folder from which the node
          runs, and its line is shown here.
        </p>
      )}
    </section>
  );
}

/** The line of the user's own at which a program failed. */
export function Source({ explained, signature }: { explained: Explained; signature: string }) {
  const source = explained.source!;
  return (
    <figure class="source">
      <figcaption>
        <b class="mono">{source.shown}</b>
        {source.function && (
          <span>
            in <code>{source.function}</code>
          </span>
        )}
        <Copy text={`${source.file}:${source.line}`} label="path of the line" />
        <a class="step-there" href={`/debug/${signature}`}>
          Step through it
        </a>
      </figcaption>
      {source.lines.length > 0 ? (
        <pre tabIndex={0}>
          {source.lines.map((it) => (
            <div key={it.number} class={it.number === source.line ? "here" : ""}>
              <i>{it.number}</i>
              <code>{it.text || " "}</code>
            </div>
          ))}
        </pre>
      ) : (
        <p class="faint">The file is not on this machine.</p>
      )}
      {explained.place.length > 1 && (
        <ul class="mono frames">
          {explained.place.slice(1).map((line, index) => (
            <li key={index}>{line}</li>
          ))}
        </ul>
      )}
    </figure>
  );
}

export function Balances(props: { keys: string[]; before: (number | bigint)[]; after: (number | bigint)[] }) {
  const changes = props.keys
    .map((key, index) => ({ key, before: BigInt(props.before[index] ?? 0), after: BigInt(props.after[index] ?? 0) }))
    .filter((it) => it.before !== it.after);
  if (changes.length === 0) return null;
  return (
    <Section title="Balances" aside="SOL">
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Account</th>
              <th class="right wide">Before</th>
              <th class="right">After</th>
              <th class="right">Change</th>
            </tr>
          </thead>
          <tbody>
            {changes.map((it) => (
              <tr key={it.key}>
                <td>
                  <Address of={it.key} />
                </td>
                <td class="right number faint wide">{sol(it.before)}</td>
                <td class="right number">{sol(it.after)}</td>
                <td class={`right number ${it.after > it.before ? "up" : "down"}`}>{signed(sol(it.after - it.before))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function Tokens({ meta, keys }: { meta: Meta; keys: string[] }) {
  const before = meta.preTokenBalances ?? [];
  const after = meta.postTokenBalances ?? [];
  const indices = [...new Set([...before, ...after].map((it) => it.accountIndex))];
  const changes = indices.map((index) => {
    const [old, young] = [before, after].map((all) => all.find((it) => it.accountIndex === index));
    const known = (young ?? old)!;
    const amount = (it: typeof old) => BigInt(it?.uiTokenAmount.amount ?? 0);
    return { account: keys[index], mint: known.mint, owner: known.owner, decimals: known.uiTokenAmount.decimals, before: amount(old), after: amount(young) };
  });
  if (changes.length === 0) return null;
  return (
    <Section title="Tokens">
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Account</th>
              <th>Owner</th>
              <th>Mint</th>
              <th class="right">After</th>
              <th class="right">Change</th>
            </tr>
          </thead>
          <tbody>
            {changes.map((it) => (
              <tr key={it.account}>
                <td>
                  <Address of={it.account} />
                </td>
                <td>{it.owner && <Address of={it.owner} />}</td>
                <td>
                  <Address of={it.mint} />
                </td>
                <td class="right number">{decimal(it.after, it.decimals)}</td>
                <td class={`right number ${it.after === it.before ? "faint" : it.after > it.before ? "up" : "down"}`}>
                  {it.after === it.before ? "none" : signed(decimal(it.after - it.before, it.decimals))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

/** Amounts of token accounts before and after with their decimals, by address. */
type Amounts = Map<string, [string | undefined, string | undefined]>;

function amountsOf({ meta, transaction }: Landed): Amounts {
  const amounts: Amounts = new Map();
  const add = (all: TokenBalance[] | null | undefined, at: 0 | 1) => {
    for (const it of all ?? []) {
      const key = transaction.message.accountKeys[it.accountIndex]?.pubkey;
      const pair = amounts.get(key) ?? [undefined, undefined];
      pair[at] = decimal(BigInt(it.uiTokenAmount.amount), it.uiTokenAmount.decimals);
      amounts.set(key, pair);
    }
  };
  add(meta.preTokenBalances, 0);
  add(meta.postTokenBalances, 1);
  return amounts;
}

export function Diffs({ diffs, amounts }: { diffs: Diff[]; amounts?: Amounts }) {
  if (diffs.length === 0) return null;
  return (
    <Section title="Account data">
      {diffs.map((it) => (
        <DiffView key={it.account} diff={it} amounts={amounts} />
      ))}
    </Section>
  );
}

/** The values of a field of which nothing is set. */
const NOTHING = /^(0|1{32}|none|false|\[\]|""|)$/;
const valueOf = (text: string) => (/^\d+$/.test(text) ? count(text) : (nameOf(text) ?? text));

function DiffView({ diff, amounts }: { diff: Diff; amounts?: Amounts }) {
  const amount = amounts?.get(diff.account);
  // What a new account has none of is left out.
  const fields = diff.fields.filter((it) => it.before !== null || !NOTHING.test(it.after ?? ""));
  return (
    <article class="diff">
      <header>
        <Address of={diff.account} />
        <span class="faint">
          owned by <Address of={diff.ownerAfter} plain />
        </span>
        {diff.ownerBefore !== diff.ownerAfter && (
          <span>
            before by <Address of={diff.ownerBefore} plain />
          </span>
        )}
        {diff.bytesBefore !== diff.bytesAfter && (
          <span class="number">
            {count(diff.bytesBefore)} → {count(diff.bytesAfter)} bytes
          </span>
        )}
      </header>
      {fields.length > 0 && (
        <dl class="changes">
          {fields.map((it) => (
            <div key={it.path}>
              <dt class="wrap">{it.path}</dt>
              <dd class="number wrap">
                {it.before !== null && (
                  <>
                    <del>{(it.path === "amount" && amount?.[0]) || valueOf(it.before)}</del> →{" "}
                  </>
                )}
                <ins>{it.after === null ? "gone" : (it.path === "amount" && amount?.[1]) || valueOf(it.after)}</ins>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <details open={fields.length === 0}>
        <summary>Bytes</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label="Changed bytes">
          <table class="bytes">
            <thead>
              <tr>
                <th class="right">Offset</th>
                <th>Before</th>
                <th>After</th>
              </tr>
            </thead>
            <tbody>
              {diff.ranges.slice(0, 64).map((it) => (
                <tr key={it.offset}>
                  <td class="right number faint">{it.offset}</td>
                  <td class="mono">
                    <Changed text={it.before} other={it.after} />
                  </td>
                  <td class="mono">
                    <Changed text={it.after} other={it.before} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
      {(diff.isTruncated || diff.ranges.length > 64) && <p class="faint">More bytes have changed than are shown.</p>}
    </article>
  );
}

/** Bytes, in which those are marked that differ from others. */
function Changed({ text, other }: { text: string; other: string }) {
  if (!text) return <span class="faint">none</span>;
  const pairs = text.match(/../g) ?? [];
  const value = meaning(text);
  return (
    <>
      <span class="pairs">
        {pairs.slice(0, 192).map((pair, index) =>
          other && pair !== other.slice(2 * index, 2 * index + 2) ? <mark key={index}>{pair}</mark> : <span key={index}>{pair}</span>,
        )}
      </span>
      {value && <span class="faint value"> {value}</span>}
    </>
  );
}

function Returned({ meta }: { meta: Meta }) {
  if (!meta.returnData) return null;
  const bytes = Uint8Array.from(atob(meta.returnData.data[0]), (it) => it.charCodeAt(0));
  return (
    <Section title="Return data" aside={<>by <Address of={meta.returnData.programId} plain /></>}>
      <Hex bytes={bytes} />
    </Section>
  );
}

function Accounts({ landed }: { landed: Landed }) {
  const keys = landed.transaction.message.accountKeys;
  return (
    <Section title="Accounts" aside={count(keys.length)}>
      <ol class="accounts">
        {keys.map((it, index) => (
          <li key={it.pubkey}>
            <span class="number faint">{index}</span>
            <Address of={it.pubkey} full />
            <span class="tags">
              {it.signer && <i>signer</i>}
              {it.writable && <i>writable</i>}
              {it.source === "lookupTable" && <i>lookup table</i>}
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Raw(props: { signature: string; everything: Everything; explained?: Explained | null }) {
  const raw = useLoad(
    () => rpc<{ transaction: [string, string] }>("getTransaction", props.signature, { ...OPTIONS, encoding: "base64" }),
    props.signature,
  );
  return (
    <Section title="Raw">
      <Loaded of={raw} lines={2}>
        {(it) => (
          <>
            <div class="code">
              <Copy text={it.transaction[0]} label="transaction in base64" />
              <pre class="fold" tabIndex={0}>{it.transaction[0]}</pre>
            </div>
            <p class="after">
              <a class="button" href={`/inspector?transaction=${encodeURIComponent(it.transaction[0])}`}>
                Open in the inspector
              </a>
            </p>
          </>
        )}
      </Loaded>
      <Json value={props.everything.landed} title="getTransaction" />
      {props.everything.trace && <Json value={props.everything.trace} title="selkie_traceTransaction" />}
      {props.explained && <Json value={props.explained} title="selkie_explainTransaction" />}
    </Section>
  );
}

