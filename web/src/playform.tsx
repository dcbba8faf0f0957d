// The instruction that a program is run with: its data and its accounts.

import { type AccountOf, bytesOfPart, KINDS, newAccount, OWNERS, type Part, type Play } from "./playstate";
import { counted, nameOf } from "./format";
import { isAddress } from "./bytes";

const value = (event: Event) => (event.target as HTMLInputElement).value;
const checked = (event: Event) => (event.target as HTMLInputElement).checked;
const replaced = <T,>(all: T[], index: number, it: T) => all.map((old, at) => (at === index ? it : old));
const without = <T,>(all: T[], index: number) => all.filter((_, at) => at !== index);

export function InstructionForm({ play, change }: { play: Play; change: (play: Play) => void }) {
  const account = (index: number, it: AccountOf) => change({ ...play, accounts: replaced(play.accounts, index, it) });
  return (
    <div class="instruction">
      <h2>Instruction data</h2>
      <Parts parts={play.data} of="instruction data" programId={play.programId} change={(data) => change({ ...play, data })} />
      <h2>Accounts</h2>
      {play.accounts.map((it, index) => (
        <AccountForm key={index} it={it} index={index} programId={play.programId} change={(next) => account(index, next)} remove={() => change({ ...play, accounts: without(play.accounts, index) })} />
      ))}
      <p class="tools">
        <button onClick={() => change({ ...play, accounts: [...play.accounts, newAccount(play.accounts)] })}>Add an account</button>
        <button onClick={() => change({ ...play, accounts: [...play.accounts, { ...newAccount(play.accounts), key: "", isReference: true, isWritable: false }] })}>Add a program or sysvar</button>
      </p>
      <details>
        <summary>Program and limit</summary>
        <label>
          Program address
          <input class="mono" value={play.programId} aria-invalid={!isAddress(play.programId)} spellcheck={false} onInput={(event) => change({ ...play, programId: value(event) })} />
        </label>
        <label>
          Compute units
          <input inputMode="numeric" value={play.limit} aria-invalid={!/^\d+$/.test(play.limit)} onInput={(event) => change({ ...play, limit: value(event) })} />
        </label>
      </details>
    </div>
  );
}

function AccountForm(props: { it: AccountOf; index: number; programId: string; change: (it: AccountOf) => void; remove: () => void }) {
  const { it, index, change } = props;
  const known = OWNERS.some(([key]) => key === it.owner);
  const name = nameOf(it.key);
  return (
    <fieldset class="account">
      <legend>
        Account {index}
        {name && <span class="faint"> {name}</span>}
        <button class="link" onClick={props.remove} aria-label={`Remove account ${index}`}>
          Remove
        </button>
      </legend>
      <label class="whole">
        <span class="visually-hidden">Address</span>
        <input class="mono" placeholder="address" value={it.key} aria-label={`Address of account ${index}`} aria-invalid={!isAddress(it.key)} spellcheck={false} onInput={(event) => change({ ...it, key: value(event) })} />
      </label>
      <p class="flags">
        <label>
          <input type="checkbox" checked={it.isSigner} onChange={(event) => change({ ...it, isSigner: checked(event) })} /> signer
        </label>
        <label>
          <input type="checkbox" checked={it.isWritable} onChange={(event) => change({ ...it, isWritable: checked(event) })} /> writable
        </label>
      </p>
      {!it.isReference && (
        <>
          <div class="pairs-of">
            <label>
              Owner
              <select value={known ? it.owner : "other"} onChange={(event) => change({ ...it, owner: value(event) === "other" ? props.programId : value(event) })}>
                {OWNERS.map(([key, name]) => (
                  <option key={key} value={key}>
                    {name}
                  </option>
                ))}
                <option value="other">another</option>
              </select>
            </label>
            <label>
              Lamports
              <input inputMode="numeric" value={it.lamports} aria-invalid={!/^\d+$/.test(it.lamports)} onInput={(event) => change({ ...it, lamports: value(event) })} />
            </label>
          </div>
          {!known && <input class="mono" aria-label={`Owner of account ${index}`} value={it.owner} aria-invalid={!isAddress(it.owner)} spellcheck={false} onInput={(event) => change({ ...it, owner: value(event) })} />}
          <Parts parts={it.data} of={`data of account ${index}`} programId={props.programId} change={(data) => change({ ...it, data })} />
        </>
      )}
    </fieldset>
  );
}

function Parts(props: { parts: Part[]; of: string; programId: string; change: (parts: Part[]) => void }) {
  const { parts, of, change } = props;
  let offset = 0;
  return (
    <div class="parts" role="group" aria-label={of}>
      {parts.map(([kind, text], index) => {
        let problem = "";
        let length = 0;
        try {
          length = bytesOfPart([kind, text], props.programId).length;
        } catch (error) {
          problem = (error as Error).message;
        }
        const at = offset;
        offset += length;
        return (
          <div key={index} class="part">
            <span class="number faint" title="Offset in bytes">
              {at}
            </span>
            <select aria-label={`Type of part ${index + 1} of the ${of}`} value={kind} onChange={(event) => change(replaced(parts, index, [value(event), text]))}>
              {KINDS.map((it) => (
                <option key={it}>{it}</option>
              ))}
            </select>
            <input class="mono" aria-label={`Part ${index + 1} of the ${of}`} value={text} aria-invalid={!!problem} title={problem} spellcheck={false} placeholder={kind === "key" ? "this program" : ""} onInput={(event) => change(replaced(parts, index, [kind, value(event)]))} />
            <button class="icon" aria-label={`Remove part ${index + 1} of the ${of}`} onClick={() => change(without(parts, index))}>
              ×
            </button>
            {problem && <span class="why">{problem}</span>}
          </div>
        );
      })}
      <button class="link" onClick={() => change([...parts, ["u64", "0"]])}>
        Add a value{parts.length === 0 ? ` to the ${of}` : ""}
      </button>
      {offset > 0 && <span class="faint"> {counted(offset, "byte")}</span>}
    </div>
  );
}
