// An account: its data decoded and in bytes, its history, live; and what a program consists of.

import { useEffect, useRef, useState } from "preact/hooks";
import { base58, isAddress } from "./bytes";
import { count, counted, learnName, nameOf, sol, title, UPGRADEABLE } from "./format";
import { Edit } from "./edit";
import { ControlFlow } from "./graph";
import { Interface } from "./idl";
import { Rows, type Row } from "./live";
import { describeAccount, type Idl } from "./names";
import { rpc, subscribe } from "./rpc";
import { later } from "./time";
import type { Account, Disassembled, Err } from "./types";
import { ProgramUsage, useUsage } from "./usage";
import { Address, bytesOf, Copy, Decoded, Facts, Failure, Hex, Json, Loaded, Section, useLoad, Waiting } from "./ui";

const HISTORY = 25;
const PAGE = 500;

interface Both {
  parsed: Account | null;
  bytes: Account | null;
  slot: number;
}

async function load(address: string): Promise<Both> {
  type Answer = { context: { slot: number }; value: Account | null };
  const get = (encoding: string) => rpc<Answer>("getAccountInfo", address, { encoding, commitment: "processed" });
  const [parsed, bytes] = await Promise.all([get("jsonParsed"), get("base64")]);
  return { parsed: parsed.value, bytes: bytes.value, slot: bytes.context.slot };
}

async function history(address: string): Promise<Row[]> {
  const found = await rpc<{ signature: string; slot: number; err: Err | null }[]>("getSignaturesForAddress", address, {
    limit: HISTORY,
    commitment: "confirmed",
  });
  return found.map((it) => ({ ...it, logs: [] }));
}

const typeOf = (parsed: unknown) => (parsed as { type?: string } | null)?.type;

export function AccountView({ address }: { address: string }) {
  if (!isAddress(address)) return <Failure error={new Error("This is no address: addresses are 32 bytes in base58.")} />;
  return <Shown address={address} />;
}

function Shown({ address }: { address: string }) {
  const [changes, setChanges] = useState(0);
  const account = useLoad(() => load(address), address);
  const described = useLoad(() => describeAccount(address), address);
  const landed = useLoad(() => history(address), address);
  const [isEdited, setEdited] = useState(false);
  useEffect(() => {
    const reload = later(() => {
      account.reload();
      described.reload();
      landed.reload();
    }, 150);
    const changed = () => {
      setChanges((it) => it + 1);
      reload();
    };
    const ends = [
      // While a client watches the clock, the node makes a block in every slot.
      ...(address.startsWith("Sysvar") ? [] : [subscribe("account", [address, { encoding: "base64", commitment: "processed" }], changed)]),
      subscribe("logs", [{ mentions: [address] }, { commitment: "processed" }], reload),
    ];
    return () => ends.forEach((end) => end());
  }, [address]);
  const isProgram = account.value?.bytes?.executable ?? false;
  return (
    <>
      <header class="page">
        <h1>
          {isProgram ? "Program" : "Account"} {nameOf(address) && <span>{nameOf(address)}</span>}
          <span class="mono wrap sub">
            {address} <Copy text={address} label="address" />
          </span>
        </h1>
        <div class="tools">
          <span class="live" role="status" title="The view follows the account">
            {changes > 0 ? `changed ${counted(changes, "time")} while you look` : "live"}
          </span>
          {account.value?.bytes && (
            <button aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>
              Edit
            </button>
          )}
        </div>
      </header>
      <Loaded of={account} lines={8}>
        {({ parsed, bytes }) =>
          bytes && parsed ? (
            <>
              <Facts
                rows={[
                  ["Balance", <span class="number">{sol(bytes.lamports)} SOL</span>],
                  ["Owner", <Address of={bytes.owner} />],
                  ["Size", <span class="number">{count(bytes.space)} bytes</span>],
                  ["Executable", bytes.executable ? "yes" : "no"],
                ]}
              />
              {isEdited && (
                <Edit
                  address={address}
                  account={bytes}
                  fields={described.value?.fields ?? []}
                  done={() => {
                    setEdited(false);
                    account.reload();
                    described.reload();
                  }}
                />
              )}
              {isProgram && <Program address={address} account={bytes} />}
              {"parsed" in parsed.data && !isProgram && (
                <Section title="Data" aside={[parsed.data.program, typeOf(parsed.data.parsed)].filter(Boolean).join(", ")}>
                  <div class="panel">
                    <Decoded value={(parsed.data.parsed as { info?: unknown } | null)?.info ?? parsed.data.parsed} />
                  </div>
                </Section>
              )}
              {!("parsed" in parsed.data) && described.value && (
                <Section title="Data" aside={`${title(described.value.name)}, ${described.value.origin}`}>
                  <div class="panel">
                    <Decoded value={described.value.info} />
                  </div>
                </Section>
              )}
            </>
          ) : (
            <p class="empty">
              There is no account at this address. <a href={`/controls?to=${address}`}>Give it lamports</a>, and it exists.
            </p>
          )
        }
      </Loaded>
      <Section title="History">
        <Loaded of={landed} lines={4}>
          {(rows) => (rows.length ? <Rows rows={rows} /> : <p class="faint">No transaction that is kept names this address.</p>)}
        </Loaded>
      </Section>
      {account.value?.bytes && account.value.bytes.space > 0 && (
        <Section title="Bytes" aside={<Copy text={(account.value.bytes.data as [string, string])[0]} label="data in base64" />}>
          <Hex bytes={bytesOf(account.value.bytes.data as [string, string])} />
        </Section>
      )}
      {account.value?.parsed && <Json value={account.value.parsed} title="getAccountInfo" />}
    </>
  );
}

/** Where an upgradeable program's data is, who may change it, and since which slot it is there. */
async function deployment(account: Account) {
  if (account.owner !== UPGRADEABLE) return null;
  const held = bytesOf(account.data as [string, string]);
  const data = base58(held.subarray(4, 36));
  const answer = await rpc<{ value: Account | null }>("getAccountInfo", data, { encoding: "base64", dataSlice: { offset: 0, length: 45 } });
  if (!answer.value) return { data, authority: null, slot: null };
  const head = bytesOf(answer.value.data as [string, string]);
  const slot = new DataView(head.buffer).getBigUint64(4, true);
  return { data, authority: head[12] === 1 ? base58(head.subarray(13, 45)) : null, slot };
}

function Program({ address, account }: { address: string; account: Account }) {
  const deployed = useLoad(() => deployment(account), address);
  const [from, setFrom] = useState(0);
  const code = useLoad(() => rpc<Disassembled | null>("selkie_disassembleProgram", address, { from, count: PAGE }), `${address} ${from}`);
  const idl = useLoad(() => rpc<Idl | null>("selkie_getIdl", address), address);
  const usage = useUsage(address);
  const at = deployed.value;
  const about = code.value;
  if (about?.name) learnName(address, about.name);
  // The parts are shown at once, so that none moves another.
  const isThere = useRef(false);
  isThere.current ||= [deployed, code, idl].every((it) => it.value !== undefined || it.error);
  if (!isThere.current) return <Waiting lines={10} />;
  return (
    <>
      {(at || about) && (
        <Facts
          rows={[
            ...(about
              ? ([
                  ["sBPF", about.version],
                  ["File", <span class="number">{count(about.bytes)} bytes</span>],
                  ["Instructions", <span class="number">{count(about.slots)}</span>],
                  ["Debug information", about.debugFile ? <span class="mono wrap" title={about.debugFile}>{about.debugFile.split("/").slice(-1)}</span> : "none on this machine"],
                ] as [string, preact.ComponentChildren][])
              : []),
            ...(at
              ? ([
                  ["Upgrade authority", at.authority ? <Address of={at.authority} /> : "none: it cannot be changed"],
                  ["Deployed in slot", <span class="number">{count(at.slot)}</span>],
                  ["Program data", <Address of={at.data} />],
                ] as [string, preact.ComponentChildren][])
              : []),
          ]}
        />
      )}
      <Interface address={address} idl={idl} />
      {at && <Upgrades data={at.data} />}
      {about && <ControlFlow address={address} about={about} />}
      <Section title="Disassembly" aside={about && <FunctionPicker about={about} pick={setFrom} />}>
        <Loaded of={code} lines={8}>
          {(it) => (it ? <Listing code={it} from={from} go={setFrom} /> : <p class="faint">This program is a part of the runtime, and has no instructions.</p>)}
        </Loaded>
      </Section>
      <ProgramUsage usage={usage} stack={new Map(about?.functions.map((it) => [it.name, it.stackBytes]))} />
    </>
  );
}

/** The transactions that name the account with the program: deployments, upgrades, changes of its authority. */
function Upgrades({ data }: { data: string }) {
  const landed = useLoad(() => history(data), data);
  return (
    <Section title="Upgrades">
      <Loaded of={landed} lines={2}>
        {(rows) => (rows.length ? <Rows rows={rows} /> : <p class="faint">No transaction that is kept has deployed it: it was there from the start, or was set by a cheatcode.</p>)}
      </Loaded>
    </Section>
  );
}

export function FunctionPicker({ about, pick }: { about: Disassembled; pick: (pc: number) => void }) {
  return (
    <select aria-label="Function" onChange={(event) => pick(Number((event.target as HTMLSelectElement).value))}>
      <option value="0">{count(about.functions.length)} functions</option>
      {about.functions.map((it) => (
        <option key={it.pc} value={it.pc}>
          {it.name}
          {it.stackBytes ? ` · ${count(it.stackBytes)} bytes of stack` : ""}
        </option>
      ))}
    </select>
  );
}

export function Listing({ code, from, go }: { code: Disassembled; from: number; go: (pc: number) => void }) {
  const names = new Map(code.functions.map((it) => [it.pc, it.name]));
  let last = "";
  return (
    <>
      <div class="listing" tabIndex={0} role="region" aria-label="Instructions">
        <table>
          <thead class="visually-hidden">
            <tr>
              <th>Slot</th>
              <th>Instruction</th>
              <th>Line</th>
            </tr>
          </thead>
          <tbody>
            {code.instructions.map((it) => {
              const name = names.get(it.pc);
              const line = it.line && it.line !== last ? it.line : "";
              if (it.line) last = it.line;
              return (
                <>
                  {name && (
                    <tr key={name} class="function">
                      <th colSpan={3} scope="rowgroup">
                        {name}
                      </th>
                    </tr>
                  )}
                  <tr key={it.pc}>
                    <td class="number faint">{it.pc}</td>
                    <td>
                      {it.text}
                      {it.comment && <span class="faint"> # {it.comment}</span>}
                    </td>
                    <td class="faint">{line}</td>
                  </tr>
                </>
              );
            })}
          </tbody>
        </table>
      </div>
      {code.slots > PAGE && (
        <div class="pager">
          <button disabled={from === 0} onClick={() => go(Math.max(0, from - PAGE))}>
            Before
          </button>
          <span class="number">
            {count(from)} – {count(Math.min(code.slots, from + PAGE) - 1)} of {count(code.slots)}
          </span>
          <button disabled={from + PAGE >= code.slots} onClick={() => go(from + PAGE)}>
            After
          </button>
        </div>
      )}
    </>
  );
}
