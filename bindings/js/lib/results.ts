/** The results of transactions. */

import { type EncodedAccount, lamports } from "@solana/kit";

import { addressText, describe } from "./codec";
import { type TransactionError, transactionError } from "./errors";
import type { NativeAccount, NativeInstruction, NativeOutcome } from "./native";

/** An account without its address. `LiteSVM.getAccount` returns kit's type instead. */
export class Account {
  constructor(
    private readonly ofLamports: bigint,
    private readonly ofData: Uint8Array,
    private readonly ofOwner: Uint8Array,
    private readonly isExecutable: boolean,
    private readonly ofRentEpoch: bigint,
  ) {}

  lamports(): bigint {
    return this.ofLamports;
  }

  data(): Uint8Array {
    return this.ofData;
  }

  owner(): Uint8Array {
    return this.ofOwner;
  }

  executable(): boolean {
    return this.isExecutable;
  }

  rentEpoch(): bigint {
    return this.ofRentEpoch;
  }

  toString(): string {
    return describe("Account", {
      lamports: this.ofLamports,
      dataLength: this.ofData.length,
      owner: addressText(this.ofOwner),
      executable: this.isExecutable,
      rentEpoch: this.ofRentEpoch,
    });
  }
}

/** @internal */
export function encodedAccount(
  account: NativeAccount,
): EncodedAccount & { readonly data: Uint8Array } {
  const { data, executable } = account;
  return {
    address: addressText(account.address),
    data,
    executable,
    lamports: lamports(account.lamports),
    programAddress: addressText(account.owner),
    space: BigInt(data.length),
  };
}

/** An instruction as it is in a message: accounts are indices. */
export class CompiledInstruction {
  constructor(
    private readonly ofProgram: number,
    private readonly ofAccounts: Uint8Array,
    private readonly ofData: Uint8Array,
  ) {}

  programIdIndex(): number {
    return this.ofProgram;
  }

  accounts(): Uint8Array {
    return this.ofAccounts;
  }

  data(): Uint8Array {
    return this.ofData;
  }

  toString(): string {
    return describe("CompiledInstruction", {
      programIdIndex: this.ofProgram,
      accounts: `[${this.ofAccounts}]`,
      data: `[${this.ofData}]`,
    });
  }
}

/** An instruction that a program invoked. */
export class InnerInstruction {
  /** @internal */
  constructor(private readonly native: NativeInstruction) {}

  instruction(): CompiledInstruction {
    const { programIdIndex, accounts, data } = this.native;
    return new CompiledInstruction(programIdIndex, accounts, data);
  }

  /** How deep the call was: 2 if a top-level instruction made it. */
  stackHeight(): number {
    return this.native.stackHeight;
  }

  toString(): string {
    const { stackHeight } = this.native;
    return describe("InnerInstruction", { instruction: this.instruction(), stackHeight });
  }
}

/** Data that a program returned. */
export class TransactionReturnData {
  /** @internal */
  constructor(private readonly native: NativeOutcome) {}

  /** The program. If the data are empty, the one that was invoked last, or 32 zeros if none was. */
  programId(): Uint8Array {
    return this.native.returnProgram();
  }

  data(): Uint8Array {
    return this.native.returnData();
  }

  toString(): string {
    const programId = addressText(this.programId());
    return describe("TransactionReturnData", { programId, data: `[${this.data()}]` });
  }
}

/** What a transaction did. */
export class TransactionMetadata {
  /** @internal */
  constructor(private readonly native: NativeOutcome) {}

  /** The first signature. */
  signature(): Uint8Array {
    return this.native.signature();
  }

  /** The log lines. */
  logs(): string[] {
    return this.native.logs();
  }

  /** The instructions that programs invoked, by top-level instruction. */
  innerInstructions(): InnerInstruction[][] {
    const lists = this.native.innerInstructions();
    return lists.map((list) => list.map((it) => new InnerInstruction(it)));
  }

  computeUnitsConsumed(): bigint {
    return this.native.computeUnits();
  }

  /** The fee in lamports, which `litesvm` does not tell. */
  fee(): bigint {
    return this.native.fee();
  }

  returnData(): TransactionReturnData {
    return new TransactionReturnData(this.native);
  }

  /** The log in colour, for a terminal. */
  prettyLogs(): string {
    return this.native.prettyLogs();
  }

  toString(): string {
    return `TransactionMetadata(${this.native.text(false)})`;
  }
}

/** A transaction that failed, or was dropped before it paid its fee. */
export class FailedTransactionMetadata {
  /** @internal */
  constructor(private readonly native: NativeOutcome) {}

  /** Why it failed. */
  err(): TransactionError {
    const error = this.native.error();
    if (error === null) {
      throw new Error("a transaction failed without an error: this is a bug in Selkie");
    }
    return transactionError(error);
  }

  /** What it did until then. */
  meta(): TransactionMetadata {
    return new TransactionMetadata(this.native);
  }

  toString(): string {
    const [err, meta] = [this.native.text(true), this.native.text(false)];
    return `FailedTransactionMetadata(${describe("FailedTransactionMetadata", { err, meta })})`;
  }
}

/** What a transaction would do. */
export class SimulatedTransactionInfo {
  /** @internal */
  constructor(private readonly native: NativeOutcome) {}

  meta(): TransactionMetadata {
    return new TransactionMetadata(this.native);
  }

  /** The writable accounts as they would be afterwards. */
  postAccounts(): EncodedAccount[] {
    return this.native.postAccounts().map(encodedAccount);
  }

  toString(): string {
    return describe("SimulatedTransactionInfo", { meta: this.meta() });
  }
}

/** @internal */
export function sent(native: NativeOutcome): TransactionMetadata | FailedTransactionMetadata {
  const hasFailed = native.error() !== null;
  return hasFailed ? new FailedTransactionMetadata(native) : new TransactionMetadata(native);
}

/** @internal */
export function simulated(
  native: NativeOutcome,
): SimulatedTransactionInfo | FailedTransactionMetadata {
  const hasFailed = native.error() !== null;
  return hasFailed ? new FailedTransactionMetadata(native) : new SimulatedTransactionInfo(native);
}
