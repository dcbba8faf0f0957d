/** The calls of the package. The same tests run on the `litesvm` package, by changing the import. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  AccountRole,
  address,
  type Address,
  appendTransactionMessageInstruction,
  createTransactionMessage,
  generateKeyPairSigner,
  getAddressEncoder,
  getSignatureFromTransaction,
  type Instruction,
  type KeyPairSigner,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  signTransactionMessageWithSigners,
} from "@solana/kit";
import { getTransferSolInstruction } from "@solana-program/system";
import {
  Clock,
  ComputeBudget,
  EpochSchedule,
  FailedTransactionMetadata,
  FeatureSet,
  LiteSVM,
  Rent,
  SimulatedTransactionInfo,
  SlotHistory,
  StakeHistory,
  StakeHistoryEntry,
  TransactionMetadata,
} from "selkie-svm";

const SOL = 1_000_000_000n;
const TOKEN = address("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
const MEMO = address("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
const SYSTEM = address("11111111111111111111111111111111");
/** An address of the length and looks of others, without an account. */
const BOB = address("4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi");
const LOADER_V2 = address("BPFLoader2111111111111111111111111111111111");

/** A chain, and someone with ten SOL on it. */
async function chain(): Promise<[LiteSVM, KeyPairSigner]> {
  const svm = new LiteSVM();
  const alice = await generateKeyPairSigner();
  svm.airdrop(alice.address, lamports(10n * SOL));
  return [svm, alice];
}

function sign(
  svm: LiteSVM,
  payer: KeyPairSigner,
  instruction: Instruction,
  version: 0 | "legacy" = 0,
) {
  return pipe(
    // The types of kit do not follow a version that is known at run time only.
    createTransactionMessage({ version: version as 0 }),
    (it) => setTransactionMessageFeePayerSigner(payer, it),
    (it) => appendTransactionMessageInstruction(instruction, it),
    (it) => svm.setTransactionMessageLifetimeUsingLatestBlockhash(it),
    (it) => signTransactionMessageWithSigners(it),
  );
}

function transfer(source: KeyPairSigner, destination: Address, amount: bigint): Instruction {
  return getTransferSolInstruction({ source, destination, amount });
}

function succeeded(result: unknown): TransactionMetadata {
  assert.ok(result instanceof TransactionMetadata, String(result));
  return result;
}

function failed(result: unknown): FailedTransactionMetadata {
  assert.ok(result instanceof FailedTransactionMetadata, String(result));
  return result;
}

for (const version of [0, "legacy"] as const) {
  test(`a transfer moves lamports (version ${version})`, async () => {
    const [svm, alice] = await chain();
    const bob = await generateKeyPairSigner();
    const tx = await sign(svm, alice, transfer(alice, bob.address, SOL), version);
    const metadata = succeeded(svm.sendTransaction(tx));
    assert.equal(svm.getBalance(bob.address), SOL);
    assert.equal(svm.getBalance(alice.address), 9n * SOL - 5000n);
    assert.equal(metadata.computeUnitsConsumed(), 150n);
    assert.deepEqual(metadata.logs(), [
      `Program ${SYSTEM} invoke [1]`,
      `Program ${SYSTEM} success`,
    ]);
    assert.deepEqual(metadata.innerInstructions(), [[]]);
    assert.equal(metadata.returnData().data().length, 0);
    assert.deepEqual(metadata.returnData().programId(), new Uint8Array(32));
    assert.equal(metadata.signature().length, 64);
    const found = svm.getTransaction(getSignatureFromTransaction(tx));
    assert.deepEqual(succeeded(found).logs(), metadata.logs());
  });
}

test("return data that are empty are those of the program that was invoked last", async () => {
  const [svm, alice] = await chain();
  const memo: Instruction = { programAddress: MEMO, data: new TextEncoder().encode("memo") };
  const metadata = succeeded(svm.sendTransaction(await sign(svm, alice, memo)));
  assert.equal(metadata.returnData().data().length, 0);
  assert.deepEqual(metadata.returnData().programId(), new Uint8Array(getAddressEncoder().encode(MEMO)));
});

test("added programs can be invoked at every clock", async () => {
  const [svm, alice] = await chain();
  const id = (await generateKeyPairSigner()).address;
  const invoke = async () => {
    svm.expireBlockhash();
    const memo: Instruction = { programAddress: id, data: new TextEncoder().encode("memo") };
    succeeded(svm.sendTransaction(await sign(svm, alice, memo)));
  };
  // How tests set the time: all else, the slot included, is 0.
  svm.setClock(new Clock(0n, 0n, 0n, 0n, 1_700_000_000n));
  const program = svm.getAccount(MEMO);
  assert.ok(program.exists);
  svm.addProgram(id, program.data);
  await invoke();
  for (const slot of [1000n, 999n, 0n]) {
    svm.warpToSlot(slot);
    await invoke();
  }
});

test("an instruction's error has its index and code", async () => {
  const [svm, alice] = await chain();
  const tx = await sign(svm, alice, transfer(alice, BOB, 100n * SOL));
  const failure = failed(svm.sendTransaction(tx));
  const error = failure.err();
  assert.ok(typeof error === "object" && "index" in error && "err" in error);
  assert.equal(error.index, 0);
  const inner = error.err();
  assert.ok(typeof inner === "object" && "code" in inner);
  assert.equal(inner.code, 1);
  assert.match(failure.toString(), /InstructionError\(0, Custom\(1\)\)/);
  assert.match(failure.meta().logs().join("\n"), /insufficient lamports/);
  assert.match(failure.meta().prettyLogs(), /insufficient lamports/);
});

test("an instruction's error without fields is a number", async () => {
  const [svm, alice] = await chain();
  const tx = await sign(svm, alice, { programAddress: SYSTEM, data: Uint8Array.of(9) });
  const error = failed(svm.sendTransaction(tx)).err();
  assert.ok(typeof error === "object" && "err" in error);
  assert.equal(error.err(), 2); // InvalidInstructionData
});

test("a transaction is processed once", async () => {
  const [svm, alice] = await chain();
  const tx = await sign(svm, alice, transfer(alice, alice.address, 1n));
  succeeded(svm.sendTransaction(tx));
  assert.equal(failed(svm.sendTransaction(tx)).err(), 6); // AlreadyProcessed
});

test("an expired blockhash is rejected, unless it is not checked", async () => {
  const [svm, alice] = await chain();
  const tx = await sign(svm, alice, transfer(alice, alice.address, 1n));
  const before = svm.latestBlockhash();
  svm.expireBlockhash();
  assert.notEqual(svm.latestBlockhash(), before);
  assert.equal(failed(svm.sendTransaction(tx)).err(), 7); // BlockhashNotFound
  succeeded(svm.withBlockhashCheck(false).sendTransaction(tx));
});

test("a missing signature throws, unless signatures are not verified", async () => {
  const [svm, alice] = await chain();
  const tx = await sign(svm, alice, transfer(alice, BOB, SOL));
  const unsigned = { ...tx, signatures: { [alice.address]: null } };
  assert.throws(() => svm.sendTransaction(unsigned), /signature/i);
  assert.throws(() => svm.simulateTransaction(unsigned), /signature/i);
  succeeded(svm.withSigverify(false).sendTransaction(unsigned));
});

test("a simulation changes nothing and returns accounts", async () => {
  const [svm, alice] = await chain();
  const bob = await generateKeyPairSigner();
  const tx = await sign(svm, alice, transfer(alice, bob.address, SOL));
  const simulation = svm.simulateTransaction(tx);
  assert.ok(simulation instanceof SimulatedTransactionInfo);
  assert.equal(simulation.meta().computeUnitsConsumed(), 150n);
  const accounts = new Map(simulation.postAccounts().map((it) => [it.address, it.lamports]));
  assert.equal(accounts.get(bob.address), SOL);
  assert.equal(svm.getBalance(bob.address), null);
  failed(svm.simulateTransaction(await sign(svm, alice, transfer(alice, bob.address, 99n * SOL))));
});

test("accounts are set and found", async () => {
  const svm = new LiteSVM();
  const { address } = await generateKeyPairSigner();
  assert.deepEqual(svm.getAccount(address), { address, exists: false });
  const [data, programAddress] = [Uint8Array.of(1, 2, 3), MEMO];
  const rest = { executable: false, lamports: lamports(SOL), programAddress, space: 3n };
  svm.setAccount({ address, data, ...rest });
  assert.deepEqual(svm.getAccount(address), { address, data, exists: true, ...rest });
  assert.deepEqual(svm.getProgramAccounts(MEMO), [{ address, data, ...rest }]);
});

test("sysvars are set and read", () => {
  const svm = new LiteSVM();
  const clock = new Clock(5n, 6n, 7n, 8n, -9n);
  svm.setClock(clock);
  svm.warpToSlot(500n);
  const now = svm.getClock();
  assert.deepEqual([now.slot, now.epochStartTimestamp, now.epoch], [500n, 6n, 7n]);
  assert.deepEqual([now.leaderScheduleEpoch, now.unixTimestamp], [8n, -9n]);

  svm.setRent(new Rent(7n, 2, 40));
  const rent = svm.getRent();
  assert.deepEqual([rent.lamportsPerByteYear, rent.exemptionThreshold], [7n, 2]);
  assert.equal(svm.minimumBalanceForRentExemption(72n), 2800n);

  svm.setEpochSchedule(new EpochSchedule(8192n, 8192n, false, 0n, 0n));
  assert.equal(svm.getEpochSchedule().slotsPerEpoch, 8192n);

  svm.setLastRestartSlot(44n);
  assert.equal(svm.getLastRestartSlot(), 44n);

  const hashes = svm.getSlotHashes();
  assert.ok(hashes.length >= 1);
  svm.setSlotHashes(hashes);
  assert.equal(svm.getSlotHashes()[0]?.hash, hashes[0]?.hash);

  const rewards = svm.getEpochRewards();
  [rewards.totalPoints, rewards.active] = [1n << 70n, true];
  svm.setEpochRewards(rewards);
  assert.equal(svm.getEpochRewards().totalPoints, 1n << 70n);
  assert.ok(svm.getEpochRewards().active);
});

test("histories are set and read", () => {
  const svm = new LiteSVM();
  const slots = SlotHistory.default();
  slots.add(3n);
  svm.setSlotHistory(slots);
  const history = svm.getSlotHistory();
  const checks = [0n, 1n, 3n, 4n].map((slot) => history.check(slot));
  assert.deepEqual(checks, [2, 3, 2, 0]); // Found, NotFound, Found, Future
  assert.deepEqual([history.oldest(), history.newest(), history.nextSlot], [0n, 3n, 4n]);
  history.add(5_000_000n);
  assert.equal(history.check(3n), 1); // TooOld

  const stakes = new StakeHistory();
  stakes.add(1n, new StakeHistoryEntry(10n, 11n, 12n));
  stakes.add(0n, new StakeHistoryEntry(1n, 2n, 3n));
  svm.setStakeHistory(stakes);
  assert.equal(svm.getStakeHistory().get(1n)?.activating, 11n);
  assert.equal(svm.getStakeHistory().get(0n)?.effective, 1n);
  assert.equal(svm.getStakeHistory().get(9n), null);
});

test("rent is calculated", () => {
  const rent = Rent.default();
  assert.equal(rent.minimumBalance(100n), 1_586_880n);
  assert.ok(rent.isExempt(1_586_880n, 100n) && !rent.isExempt(1_586_879n, 100n));
  assert.deepEqual(rent.calculateBurn(101n), [50n, 51n]);
  assert.equal(rent.dueAmount(10n, 1.5), 1_440_720n);
  assert.equal(rent.due(5n, 10n, 1.5), 1_440_720n);
  assert.equal(rent.due(SOL, 10n, 1.5), null);
  assert.equal(Rent.free().minimumBalance(5n), 0n);
});

test("a compute budget limits every transaction", async () => {
  const [svm, alice] = await chain();
  const budget = new ComputeBudget();
  assert.equal(budget.computeUnitLimit, 1_400_000n);
  budget.computeUnitLimit = 100n;
  const tx = await sign(svm, alice, transfer(alice, BOB, SOL));
  const error = failed(svm.withComputeBudget(budget).sendTransaction(tx)).err();
  assert.ok(typeof error === "object" && "err" in error);
  assert.equal(error.err(), 36); // ComputationalBudgetExceeded
});

test("features are sets", () => {
  const none = new FeatureSet();
  const all = FeatureSet.allEnabled();
  assert.equal(none.getActiveFeaturesCount(), 0);
  assert.equal(all.getInactiveFeaturesCount(), 0);
  const [feature] = none.getInactiveFeatures();
  assert.ok(feature);
  none.activate(feature, 7n);
  assert.ok(none.isActive(feature));
  assert.equal(none.activatedSlot(feature), 7n);
  assert.equal(none.getActiveFeatures()[0]?.compare(feature), 0);
  none.deactivate(feature);
  assert.equal(none.activatedSlot(feature), null);
  assert.ok(new LiteSVM().withFeatureSet(all) instanceof LiteSVM);
});

test("the history and the log have limits", async () => {
  const [svm, alice] = await chain();
  svm.withLogBytesLimit(10n).withTransactionHistory(0n);
  const tx = await sign(svm, alice, transfer(alice, alice.address, 1n));
  assert.match(succeeded(svm.sendTransaction(tx)).logs().join(), /Log truncated/);
  succeeded(svm.sendTransaction(tx));
  assert.equal(svm.getTransaction(getSignatureFromTransaction(tx)), null);
});

test("programs are added", async () => {
  const [svm, alice] = await chain();
  const memo = svm.getAccount(MEMO);
  assert.ok(memo.exists);
  const [elf, id] = [Uint8Array.from(memo.data), (await generateKeyPairSigner()).address];
  svm.addProgramWithLoader(id, elf, LOADER_V2);
  const data = new TextEncoder().encode("hello");
  const accounts = [{ address: alice.address, role: AccountRole.READONLY_SIGNER }];
  const tx = await sign(svm, alice, { programAddress: id, accounts, data });
  assert.match(succeeded(svm.sendTransaction(tx)).logs().join("\n"), /hello/);
});

test("mistakes throw", () => {
  const svm = new LiteSVM();
  assert.throws(() => svm.addProgramFromFile(MEMO, "no/such/file.so"), /No such file/);
  assert.throws(() => svm.addProgram(MEMO, Uint8Array.of(1, 2, 3, 4)));
  assert.throws(() => svm.addProgramWithLoader(MEMO, Uint8Array.of(1), SYSTEM), /loader/);
  assert.throws(() => svm.warpToSlot(-1n));
  assert.throws(() => svm.minimumBalanceForRentExemption(-1n));
  assert.throws(() => LiteSVM.fromBytes(Uint8Array.of(1, 2, 3)));
});

test("a saved chain continues", async () => {
  const [svm, alice] = await chain();
  svm.warpToSlot(460_000_000n);
  const again = LiteSVM.fromBytes(svm.toBytes());
  assert.equal(again.getBalance(alice.address), 10n * SOL);
  assert.equal(again.getClock().slot, 460_000_000n);
  const tx = await sign(again, alice, transfer(alice, BOB, SOL));
  succeeded(again.sendTransaction(tx));
});

test("a minimal chain is built up", async () => {
  const svm = LiteSVM.default()
    .withSysvars()
    .withFeatureSet(FeatureSet.allEnabled())
    .withBuiltins()
    .withPrecompiles()
    .withLamports(1000n * SOL)
    .withDefaultPrograms()
    .withNativeMints();
  assert.ok(svm.getAccount(TOKEN).exists);
  const mint = svm.getAccount(address("So11111111111111111111111111111111111111112"));
  assert.ok(mint.exists && mint.data.length === 82 && mint.data[44] === 9);
  const { address: someone } = await generateKeyPairSigner();
  svm.airdrop(someone, lamports(SOL));
  assert.equal(svm.getBalance(someone), SOL);
});
