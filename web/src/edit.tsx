// An account is changed: its balance, its owner, and its data by fields or by bytes.

import { useState } from "preact/hooks";
import { base64, fromHex, hex, isAddress } from "./bytes";
import { counted } from "./format";
import type { Field } from "./names";
import { rpc } from "./rpc";
import type { Account } from "./types";
import { bytesOf } from "./ui";

/** Longer data is not put into a text field. */
const TEXT_BYTES = 16_384;

const text = (event: Event) => (event.target as HTMLInputElement).value;

export function Edit(props: { address: string; account: Account; fields: Field[]; done: () => void }) {
  const { account, fields } = props;
  const before = bytesOf(account.data as [string, string]);
  const [lamports, setLamports] = useState(String(account.lamports));
  const [owner, setOwner] = useState(account.owner);
  const [bytes, setBytes] = useState(() => (before.length <= TEXT_BYTES ? hex(before) : ""));
  const [values, setValues] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState("");
  const isShort = before.length <= TEXT_BYTES;

  const save = async () => {
    const edit: Record<string, unknown> = {};
    if (!/^\d{1,20}$/.test(lamports.trim())) return setProblem("The balance is no whole number of lamports.");
    if (lamports.trim() !== String(account.lamports)) edit.lamports = BigInt(lamports.trim());
    if (!isAddress(owner.trim())) return setProblem("The owner is no address.");
    if (owner.trim() !== account.owner) edit.owner = owner.trim();
    const typed = bytes.replace(/\s+/g, "");
    if (isShort && typed !== hex(before)) {
      if (!/^([0-9a-fA-F]{2})*$/.test(typed)) return setProblem("The data is not in hexadecimal: two digits for each byte.");
      edit.data = [base64(fromHex(typed)), "base64"];
    }
    const changed = Object.entries(values).filter(([path, value]) => value !== fields.find((it) => it.path === path)?.value);
    if (changed.length > 0) edit.fields = Object.fromEntries(changed);
    if (Object.keys(edit).length === 0) return props.done();
    try {
      await rpc("selkie_setAccount", props.address, edit);
      props.done();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <form
      class="card edit"
      aria-label="Edit the account"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label>
        Lamports
        <input value={lamports} onInput={(event) => setLamports(text(event))} inputMode="numeric" required />
      </label>
      <label>
        Owner
        <input class="mono" value={owner} onInput={(event) => setOwner(text(event))} spellcheck={false} required />
      </label>
      {fields
        .filter((it) => it.isEditable)
        .map((it) => (
          <label key={it.path}>
            <span class="mono wrap">{it.path}</span>
            <input
              class="mono"
              value={values[it.path] ?? it.value}
              onInput={(event) => setValues({ ...values, [it.path]: text(event) })}
              spellcheck={false}
              title={`${counted(it.bytes, "byte")} at offset ${it.offset}`}
            />
          </label>
        ))}
      {isShort ? (
        <label>
          Data in hexadecimal
          <textarea rows={Math.min(8, 2 + Math.ceil(before.length / 48))} value={bytes} onInput={(event) => setBytes(text(event))} spellcheck={false} />
        </label>
      ) : (
        <p class="faint">The data is too long to be edited here: use selkie_setAccount.</p>
      )}
      <p class={problem ? "hint bad" : "hint"} role="alert">
        {problem}
      </p>
      <div class="tools">
        <button class="main" type="submit">
          Save
        </button>
        <button type="button" onClick={props.done}>
          Cancel
        </button>
      </div>
    </form>
  );
}
