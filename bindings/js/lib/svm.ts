/** The chain. */

import { readFileSync, writeFileSync } from "node:fs";

import {
  type Address,
  address,
  assertIsFullySignedTransaction,
  type Blockhash,
  blockhash,
  type EncodedAccount,
  type ExcludeTransactionMessageLifetime,
  getBase58Encoder,
  getTransactionEncoder,
  type Lamports,
  lamports,
  type MaybeEncodedAccount,
  type Signature,
  setTransactionMessageLifetimeUsingBlockhash,
  type Transaction,
  type TransactionMessage,
  type TransactionMessageWithBlockhashLifetime,
  type TransactionMessageWithLifetime,
} from "@solana/kit";

import { assertUnchangedCosts, type ComputeBudget } from "./budget";
import { addressBytes, Reader, u64, Writer } from "./codec";
import type { FeatureSet } from "./features";
import { SlotHistory, StakeHistory } from "./histories";
import { type NativeChain, native } from "./native";
import {
  encodedAccount,
  type FailedTransactionMetadata,
  type SimulatedTransactionInfo,
  sent,
  simulated,
  type TransactionMetadata,
} from "./results";
import {
  Clock,
  decodeSlotHashes,
  EpochRewards,
  EpochSchedule,
  encodeSlotHashes,
  Rent,
  type SlotHash,
} from "./sysvars";

const sysvar = (name: string) => addressBytes(address(name));
const CLOCK = sysvar("SysvarC1ock11111111111111111111111111111111");
const EPOCH_REWARDS = sysvar("SysvarEpochRewards1111111111111111111111111");
const EPOCH_SCHEDULE = sysvar("SysvarEpochSchedu1e111111111111111111111111");
const LAST_RESTART_SLOT = sysvar("SysvarLastRestartS1ot1111111111111111111111");
const RENT = sysvar("SysvarRent111111111111111111111111111111111");
const SLOT_HASHES = sysvar("SysvarS1otHashes111111111111111111111111111");
const SLOT_HISTORY = sysvar("SysvarS1otHistory11111111111111111111111111");
const STAKE_HISTORY = sysvar("SysvarStakeHistory1111111111111111111111111");
const SYSVAR_OWNER = sysvar("Sysvar1111111111111111111111111111111111111");

/** The mint accounts of wrapped SOL, by the program that owns them. */
const NATIVE_MINTS: readonly [string, string][] = [
  ["So11111111111111111111111111111111111111112", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"],
  ["9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"],
];

/** A Solana chain in this process: send transactions, look at accounts, set the stage for a test. */
export class LiteSVM {
  private chain: NativeChain;

  /** Creates a chain with mainnet's features and programs. */
  constructor() {
    this.chain = native.NativeChain.create(true);
  }

  private static of(chain: NativeChain): LiteSVM {
    return Object.assign(Object.create(LiteSVM.prototype) as LiteSVM, { chain });
  }

  /** Creates a chain without features, programs and checks. */
  static default(): LiteSVM {
    return LiteSVM.of(native.NativeChain.create(false));
  }

  /** Restores what {@link saveToFile} wrote. */
  static loadFromFile(path: string): LiteSVM {
    return LiteSVM.fromBytes(readFileSync(path));
  }

  /** Restores what {@link toBytes} returned. The chain has another latest blockhash. */
  static fromBytes(bytes: Uint8Array): LiteSVM {
    return LiteSVM.of(native.NativeChain.fromBytes(bytes));
  }

  /** Writes accounts, sysvars and features to a file. */
  saveToFile(path: string): void {
    writeFileSync(path, this.toBytes());
  }

  /** Encodes accounts, sysvars and features. */
  toBytes(): Uint8Array {
    return this.chain.toBytes();
  }

  /** Sets the limits of every transaction. Throws if a cost differs from the network's. */
  withComputeBudget(budget: ComputeBudget): LiteSVM {
    assertUnchangedCosts(budget);
    this.chain.setComputeBudget(budget.computeUnitLimit, budget.heapSize);
    return this;
  }

  /** Sets whether signatures are verified. Without, a transaction may be processed repeatedly. */
  withSigverify(sigverify: boolean): LiteSVM {
    this.chain.setSigverify(sigverify);
    return this;
  }

  /** Sets whether a transaction's blockhash must be recent. */
  withBlockhashCheck(check: boolean): LiteSVM {
    this.chain.setBlockhashCheck(check);
    return this;
  }

  /** Sets the sysvars to their defaults. */
  withSysvars(): LiteSVM {
    this.chain.setSysvars();
    return this;
  }

  /** Sets which features are active. */
  withFeatureSet(featureSet: FeatureSet): LiteSVM {
    this.chain.setFeatureSet(featureSet.native);
    return this;
  }

  /** Changes nothing: the builtin programs of the active features are present already. */
  withBuiltins(): LiteSVM {
    return this;
  }

  /** Sets the balance of the account that pays for airdrops. */
  withLamports(lamports: bigint): LiteSVM {
    this.chain.setLamports(lamports);
    return this;
  }

  /** Adds mainnet's programs: SPL Token, Token-2022, Associated Token Account and others. */
  withDefaultPrograms(): LiteSVM {
    this.chain.setDefaultPrograms();
    return this;
  }

  /** Adds the mints of wrapped SOL of those token programs that are present. */
  withNativeMints(): LiteSVM {
    for (const [mint, program] of NATIVE_MINTS) {
      const [key, owner] = [addressBytes(address(mint)), addressBytes(address(program))];
      if (this.chain.getAccount(owner) !== null) {
        this.chain.setNativeMint(key, owner);
      }
    }
    return this;
  }

  /** Sets how many results are kept. With 0, a transaction may be processed repeatedly. */
  withTransactionHistory(capacity: bigint): LiteSVM {
    this.chain.setTransactionHistory(capacity);
    return this;
  }

  /** Sets after how many bytes the log of a transaction is truncated: never, without `limit`. */
  withLogBytesLimit(limit?: bigint): LiteSVM {
    this.chain.setLogBytesLimit(limit);
    return this;
  }

  /** Changes nothing: the precompiles are present already. */
  withPrecompiles(): LiteSVM {
    return this;
  }

  /** The minimum balance of an account with so many bytes of data. */
  minimumBalanceForRentExemption(dataLen: bigint): bigint {
    return this.chain.minimumBalance(dataLen);
  }

  /** The account at an address; `exists` tells whether there is one. */
  getAccount(address: Address): MaybeEncodedAccount {
    const account = this.chain.getAccount(addressBytes(address));
    return account === null
      ? { address, exists: false }
      : { ...encodedAccount(account), exists: true };
  }

  /** The accounts that a program owns. */
  getProgramAccounts(programAddress: Address): EncodedAccount[] {
    return this.chain.getProgramAccounts(addressBytes(programAddress)).map(encodedAccount);
  }

  /** Sets an account, also to what no transaction could make of it. */
  setAccount(account: EncodedAccount): void {
    const [key, owner] = [addressBytes(account.address), addressBytes(account.programAddress)];
    const data = Uint8Array.from(account.data);
    this.chain.setAccount(key, account.lamports, data, owner, account.executable);
  }

  /** The balance of an account, or `null` if there is none. */
  getBalance(address: Address): Lamports | null {
    const balance = this.chain.getBalance(addressBytes(address));
    return balance === null ? null : lamports(balance);
  }

  /** The blockhash for new transactions. */
  latestBlockhash(): Blockhash {
    return blockhash(this.chain.latestBlockhash());
  }

  /** Sets the lifetime of a message by the latest blockhash. */
  setTransactionMessageLifetimeUsingLatestBlockhash<
    TTransactionMessage extends TransactionMessage & Partial<TransactionMessageWithLifetime>,
  >(
    transactionMessage: TTransactionMessage,
  ): ExcludeTransactionMessageLifetime<TTransactionMessage> &
    TransactionMessageWithBlockhashLifetime {
    const lifetime = { blockhash: this.latestBlockhash(), lastValidBlockHeight: 0n };
    return setTransactionMessageLifetimeUsingBlockhash(lifetime, transactionMessage);
  }

  /** The result of a recent transaction that paid its fee, or `null`. */
  getTransaction(signature: Signature): TransactionMetadata | FailedTransactionMetadata | null {
    const bytes = Uint8Array.from(getBase58Encoder().encode(signature));
    const found = this.chain.getTransaction(bytes);
    return found === null ? null : sent(found);
  }

  /** Gives lamports to an address, by a transaction. */
  airdrop(
    address: Address,
    lamports: Lamports,
  ): TransactionMetadata | FailedTransactionMetadata | null {
    return sent(this.chain.airdrop(addressBytes(address), lamports));
  }

  /** Adds a program from an ELF file. */
  addProgramFromFile(programId: Address, path: string): void {
    this.chain.addProgramFromFile(addressBytes(programId), path);
  }

  /** Adds a program from the bytes of an ELF file. */
  addProgram(programId: Address, programBytes: Uint8Array): void {
    this.chain.addProgram(addressBytes(programId), programBytes);
  }

  /** Adds a program of the loader with this address. */
  addProgramWithLoader(programId: Address, programBytes: Uint8Array, loaderId: Address): void {
    this.chain.addProgram(addressBytes(programId), programBytes, addressBytes(loaderId));
  }

  /** Processes a transaction. Throws if it lacks signatures and these are verified. */
  sendTransaction(tx: Transaction): TransactionMetadata | FailedTransactionMetadata {
    return sent(this.chain.send(this.encode(tx)));
  }

  /** Processes a transaction without changing anything. */
  simulateTransaction(tx: Transaction): FailedTransactionMetadata | SimulatedTransactionInfo {
    return simulated(this.chain.simulate(this.encode(tx)));
  }

  private encode(tx: Transaction): Uint8Array {
    if (this.chain.getSigverify()) {
      assertIsFullySignedTransaction(tx);
    }
    return Uint8Array.from(getTransactionEncoder().encode(tx));
  }

  /** Replaces the latest blockhash; transactions with another are dropped. */
  expireBlockhash(): void {
    this.chain.expireBlockhash();
  }

  /** Sets the slot of the clock, and nothing else. */
  warpToSlot(slot: bigint): void {
    this.setClock(Object.assign(this.getClock(), { slot }));
  }

  getClock(): Clock {
    return Clock.decode(this.sysvar(CLOCK));
  }

  setClock(clock: Clock): void {
    this.chain.setSysvar(CLOCK, clock.encode());
  }

  getEpochRewards(): EpochRewards {
    return EpochRewards.decode(this.sysvar(EPOCH_REWARDS, 81));
  }

  setEpochRewards(rewards: EpochRewards): void {
    this.chain.setSysvar(EPOCH_REWARDS, rewards.encode());
  }

  getEpochSchedule(): EpochSchedule {
    return EpochSchedule.decode(this.sysvar(EPOCH_SCHEDULE));
  }

  setEpochSchedule(schedule: EpochSchedule): void {
    this.chain.setSysvar(EPOCH_SCHEDULE, schedule.encode());
  }

  getLastRestartSlot(): bigint {
    return new Reader(this.sysvar(LAST_RESTART_SLOT, 8)).u64();
  }

  setLastRestartSlot(slot: bigint): void {
    this.chain.setSysvar(LAST_RESTART_SLOT, new Writer().u64(slot, "slot").finish());
  }

  getRent(): Rent {
    return Rent.decode(this.sysvar(RENT));
  }

  setRent(rent: Rent): void {
    this.chain.setSysvar(RENT, rent.encode());
  }

  getSlotHashes(): SlotHash[] {
    return decodeSlotHashes(this.sysvar(SLOT_HASHES, 8));
  }

  setSlotHashes(hashes: SlotHash[]): void {
    this.chain.setSysvar(SLOT_HASHES, encodeSlotHashes(hashes));
  }

  /** The slots that had blocks: those of a new chain unless {@link setSlotHistory} was called. */
  getSlotHistory(): SlotHistory {
    const account = this.chain.getAccount(SLOT_HISTORY);
    return account === null ? SlotHistory.default() : SlotHistory.decode(account.data);
  }

  setSlotHistory(history: SlotHistory): void {
    const data = history.encode();
    const balance = this.chain.minimumBalance(u64(BigInt(data.length), "the size"));
    this.chain.setAccount(SLOT_HISTORY, balance, data, SYSVAR_OWNER, false);
  }

  getStakeHistory(): StakeHistory {
    return StakeHistory.decode(this.sysvar(STAKE_HISTORY, 8));
  }

  setStakeHistory(history: StakeHistory): void {
    this.chain.setSysvar(STAKE_HISTORY, history.encode());
  }

  /** The data of a sysvar: zeros if there is none and it has this size. */
  private sysvar(key: Uint8Array, bytes?: number): Uint8Array {
    const data = this.chain.getSysvar(key);
    if (data === null && bytes === undefined) {
      throw new Error("the chain has no such sysvar: call withSysvars first");
    }
    return data ?? new Uint8Array(bytes ?? 0);
  }
}
