/** What is Selkie's own, and the comparison of the interface with that of the `litesvm` package. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { address, lamports } from "@solana/kit";
import * as peers from "litesvm";
import * as ours from "selkie-svm";
import { ComputeBudget, LiteSVM, Svm } from "selkie-svm";

const ALICE = address("4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi");

/** What a class is made of: its own members and those of its instances. */
function members(type: { prototype: object }): Set<string> {
  const own = Object.getOwnPropertyNames(type).filter((it) => !Object.hasOwn(Function.prototype, it));
  return new Set([...own, ...Object.getOwnPropertyNames(type.prototype)]);
}

/** An instance, for the fields that only instances have. */
const INSTANCES: Record<string, object> = {
  Clock: new ours.Clock(0n, 0n, 0n, 0n, 0n),
  ComputeBudget: new ours.ComputeBudget(),
  EpochRewards: new ours.EpochRewards(0n, 0n, "", 0n, 0n, 0n, false),
  EpochSchedule: new ours.EpochSchedule(0n, 0n, false, 0n, 0n),
  Rent: ours.Rent.default(),
  SlotHash: new ours.SlotHash(),
  SlotHistory: ours.SlotHistory.default(),
  StakeHistoryEntry: new ours.StakeHistoryEntry(0n, 0n, 0n),
};

test("every class and member of litesvm is here", () => {
  const missing: string[] = [];
  for (const [name, theirs] of Object.entries(peers)) {
    const here = (ours as unknown as Record<string, { prototype: object }>)[name];
    assert.ok(here, `the class ${name} is missing`);
    const known = members(here);
    for (const member of members(theirs as { prototype: object })) {
      if (!known.has(member) && !(member in (INSTANCES[name] ?? {}))) {
        missing.push(`${name}.${member}`);
      }
    }
  }
  assert.deepEqual(missing, []);
});

/** Fails to compile if the function that is wanted cannot be called as that of litesvm. */
type Calls<T> = { [K in Exclude<keyof T, Incomparable>]: T[K] };
/** These return classes that have private fields, which TypeScript compares by name; or this class. */
type Incomparable =
  | `with${string}`
  | "getTransaction"
  | "airdrop"
  | "sendTransaction"
  | "simulateTransaction";

test("the types are those of litesvm", () => {
  const asPeers = (svm: ours.LiteSVM): Omit<Calls<peers.LiteSVM>, Classes> => svm;
  const clock = (it: ours.Clock): peers.Clock => it;
  const rent = (it: ours.Rent): peers.Rent => it;
  const schedule = (it: ours.EpochSchedule): peers.EpochSchedule => it;
  const rewards = (it: ours.EpochRewards): peers.EpochRewards => it;
  const budget = (it: ours.ComputeBudget): peers.ComputeBudget => it;
  const hash = (it: ours.SlotHash): peers.SlotHash => it;
  const stake = (it: ours.StakeHistoryEntry): peers.StakeHistoryEntry => it;
  const meta = (it: ours.TransactionMetadata): Omit<peers.TransactionMetadata, Classes> => it;
  const all = [asPeers, clock, rent, schedule, rewards, budget, hash, stake, meta];
  assert.ok(all.every((it) => typeof it === "function"));
});

/** Members whose types have private fields here. */
type Classes =
  | "getSlotHistory"
  | "setSlotHistory"
  | "getStakeHistory"
  | "setStakeHistory"
  | "innerInstructions"
  | "returnData";

test("Svm is the same class", () => {
  assert.equal(Svm, LiteSVM);
});

test("a panic is an exception", () => {
  const svm = new LiteSVM();
  const { chain } = svm as unknown as { chain: { panicForTest(): void } };
  assert.throws(() => chain.panicForTest(), /a panic for a test/);
  svm.airdrop(ALICE, lamports(5_000_000n));
  assert.equal(svm.getBalance(ALICE), 5_000_000n);
});

test("a cost that is not the network's is rejected", () => {
  const budget = Object.assign(new ComputeBudget(), { invokeUnits: 1n });
  assert.throws(() => new LiteSVM().withComputeBudget(budget), /invokeUnits cannot be changed/);
});

test("a chain is saved to a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "selkie-"));
  try {
    const file = join(folder, "chain");
    const svm = new LiteSVM();
    svm.airdrop(ALICE, lamports(5_000_000n));
    svm.saveToFile(file);
    assert.equal(LiteSVM.loadFromFile(file).getBalance(ALICE), 5_000_000n);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("truncated and modified bytes of a chain are rejected", () => {
  const bytes = new LiteSVM().toBytes();
  for (let length = 0; length < bytes.length; length += 997) {
    assert.throws(() => LiteSVM.fromBytes(bytes.slice(0, length)));
  }
  const modified = bytes.slice();
  modified[modified.length - 100] = ~(modified[modified.length - 100] ?? 0);
  assert.throws(() => LiteSVM.fromBytes(modified), /modified/);
});

test("the fee is told", () => {
  const sent = new LiteSVM().airdrop(ALICE, lamports(5_000_000n));
  assert.ok(sent instanceof ours.TransactionMetadata);
  assert.equal(sent.fee(), 5000n);
});

test("results are described", () => {
  const sent = new LiteSVM().airdrop(ALICE, lamports(5_000_000n));
  assert.match(String(sent), /^TransactionMetadata\(.*compute_units_consumed: 150/);
  assert.match(String(ours.Rent.default()), /^Rent \{ lamportsPerByteYear: 6960, /);
});
