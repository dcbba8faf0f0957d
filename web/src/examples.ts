// The programs that one can begin with: the repository's own examples.

import counter from "../../examples/counter/counter.s?raw";
import dispatch from "../../examples/dispatch.s?raw";
import hello from "../../examples/hello.s?raw";
import memo from "../../examples/memo.s?raw";
import pay from "../../examples/pay/pay.s?raw";
import argumentsOf from "../../examples/registers/arguments.s?raw";
import errorCode from "../../examples/registers/error-code.s?raw";
import preserved from "../../examples/registers/preserved.s?raw";
import readOnly from "../../examples/registers/read-only.s?raw";
import { SYSTEM } from "./format";
import { type AccountOf, emptyPlay, newAccount, type Part, type Play } from "./playstate";

export interface Example {
  name: string;
  about: string;
  play: Play;
}

function example(name: string, about: string, source: string, data: Part[] = [], accounts: Partial<AccountOf>[] = [], version = "v3"): Example {
  const all: AccountOf[] = [];
  for (const it of accounts) all.push({ ...newAccount(all), ...it });
  return { name, about, play: { ...emptyPlay(source), version, data, accounts: all } };
}

export const EXAMPLES: Example[] = [
  example("Hello", "logs a line", hello),
  example("Error code", "what r0 holds is the result", errorCode),
  example("Read-only memory", "a store that the machine refuses", readOnly),
  example("Arguments", "r1 to r5, and the result in r0", argumentsOf),
  example("Preserved registers", "r6 to r9 over a call, and frames of the stack", preserved, [], [], "v0"),
  example("Dispatch", "the first byte of the data selects what is done", dispatch, [["u8", "1"], ["u64", "5"]], [{}]),
  example("Counter", "checks an account, and changes its data", counter, [["u64", "1"]], [{ data: [["u64", "41"]] }]),
  example("Transfer", "calls the system program", pay, [["u64", "250000"]], [
    { isSigner: true, owner: SYSTEM },
    { owner: SYSTEM, lamports: "5" },
    { key: SYSTEM, isReference: true, isWritable: false },
  ]),
  example("Memo", "calls the memo program", memo, [], [{ key: "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", isReference: true, isWritable: false }]),
];
