// The interface of a program, as Anchor or Codama describe it.

import { useState } from "preact/hooks";
import { count, counted, title } from "./format";
import type { Idl } from "./names";
import { rpc } from "./rpc";
import { type Load, Loaded, Section } from "./ui";

/** The longest file that is sent to the node. */
const FILE_BYTES = 4 << 20;

export function Interface({ address, idl }: { address: string; idl: Load<Idl | null> }) {
  const [problem, setProblem] = useState("");
  const set = async (json: unknown) => {
    try {
      await rpc("selkie_setIdl", address, json);
      setProblem("");
      idl.reload();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const upload = async (event: Event) => {
    const input = event.target as HTMLInputElement;
    const file = input.files?.[0];
    if (!file) return;
    if (file.size > FILE_BYTES) return setProblem("The file is longer than 4 MB.");
    try {
      await set(JSON.parse(await file.text()));
    } catch {
      setProblem("The file is no JSON.");
    }
    input.value = "";
  };
  const isGiven = idl.value?.origin === "uploaded";
  return (
    <Section title="Interface" aside={idl.value?.origin}>
      <Loaded of={idl} lines={4}>
        {(it) => (it ? <Shown idl={it} /> : <p class="faint">Nothing describes this program’s interface: no file in target/idl, and no account on chain.</p>)}
      </Loaded>
      {idl.value?.origin !== "built in" && (
        <div class="tools after">
          <label class="button file">
            {idl.value ? "Use another description" : "Upload a description"}
            <input type="file" accept=".json,application/json" class="visually-hidden" onChange={(event) => void upload(event)} />
          </label>
          {isGiven && <button onClick={() => void set(null)}>Remove</button>}
          <span class="faint">JSON, as Anchor or Codama write it</span>
        </div>
      )}
      <p class={problem ? "hint bad" : "hint"} role="status">
        {problem}
      </p>
    </Section>
  );
}

function Shown({ idl }: { idl: Idl }) {
  return (
    <>
      {idl.instructions.length > 0 && (
        <div class="scroll">
          <table class="interface">
            <thead>
              <tr>
                <th>Instruction</th>
                <th>Arguments</th>
                <th>Accounts</th>
              </tr>
            </thead>
            <tbody>
              {idl.instructions.map((it, index) => (
                <tr key={index}>
                  <td>{title(it.name)}</td>
                  <td class="mono">{it.arguments.join(", ") || <span class="faint">none</span>}</td>
                  <td>
                    {it.accounts.map((account, place) => (
                      <span class="role" key={place}>
                        <span class="mono">{account.name}</span>
                        <span class="tags">
                          {account.signer && <i>signer</i>}
                          {account.writable && <i>writable</i>}
                        </span>
                      </span>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {idl.accounts.length > 0 && (
        <p class="after">
          {counted(idl.accounts.length, "kind")} of accounts: <span class="mono wrap">{idl.accounts.join(", ")}</span>
        </p>
      )}
      {idl.errors.length > 0 && (
        <details class="json">
          <summary>{counted(idl.errors.length, "error")}</summary>
          <div class="scroll">
            <table>
              <tbody>
                {idl.errors.map((it) => (
                  <tr key={it.code}>
                    <td class="number">{count(it.code)}</td>
                    <td>{it.name}</td>
                    <td class="faint">{it.message}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      )}
    </>
  );
}
