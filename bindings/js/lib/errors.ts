/** Why transactions fail. The numbers are those of the `litesvm` package. */

import { describe } from "./codec";
import type { NativeError } from "./native";

/** Errors of instructions that have no fields. */
export enum InstructionErrorFieldless {
  GenericError = 0,
  InvalidArgument = 1,
  InvalidInstructionData = 2,
  InvalidAccountData = 3,
  AccountDataTooSmall = 4,
  InsufficientFunds = 5,
  IncorrectProgramId = 6,
  MissingRequiredSignature = 7,
  AccountAlreadyInitialized = 8,
  UninitializedAccount = 9,
  UnbalancedInstruction = 10,
  ModifiedProgramId = 11,
  ExternalAccountLamportSpend = 12,
  ExternalAccountDataModified = 13,
  ReadonlyLamportChange = 14,
  ReadonlyDataModified = 15,
  DuplicateAccountIndex = 16,
  ExecutableModified = 17,
  RentEpochModified = 18,
  NotEnoughAccountKeys = 19,
  AccountDataSizeChanged = 20,
  AccountNotExecutable = 21,
  AccountBorrowFailed = 22,
  AccountBorrowOutstanding = 23,
  DuplicateAccountOutOfSync = 24,
  InvalidError = 25,
  ExecutableDataModified = 26,
  ExecutableLamportChange = 27,
  ExecutableAccountNotRentExempt = 28,
  UnsupportedProgramId = 29,
  CallDepth = 30,
  MissingAccount = 31,
  ReentrancyNotAllowed = 32,
  MaxSeedLengthExceeded = 33,
  InvalidSeeds = 34,
  InvalidRealloc = 35,
  ComputationalBudgetExceeded = 36,
  PrivilegeEscalation = 37,
  ProgramEnvironmentSetupFailure = 38,
  ProgramFailedToComplete = 39,
  ProgramFailedToCompile = 40,
  Immutable = 41,
  IncorrectAuthority = 42,
  AccountNotRentExempt = 43,
  InvalidAccountOwner = 44,
  ArithmeticOverflow = 45,
  UnsupportedSysvar = 46,
  IllegalOwner = 47,
  MaxAccountsDataAllocationsExceeded = 48,
  MaxAccountsExceeded = 49,
  MaxInstructionTraceLengthExceeded = 50,
  BuiltinProgramsMustConsumeComputeUnits = 51,
  BorshIoError = 52,
}

/** Errors of transactions that have no fields. */
export enum TransactionErrorFieldless {
  AccountInUse = 0,
  AccountLoadedTwice = 1,
  AccountNotFound = 2,
  ProgramAccountNotFound = 3,
  InsufficientFundsForFee = 4,
  InvalidAccountForFee = 5,
  AlreadyProcessed = 6,
  BlockhashNotFound = 7,
  CallChainTooDeep = 8,
  MissingSignatureForFee = 9,
  InvalidAccountIndex = 10,
  SignatureFailure = 11,
  InvalidProgramForExecution = 12,
  SanitizeFailure = 13,
  ClusterMaintenance = 14,
  AccountBorrowOutstanding = 15,
  WouldExceedMaxBlockCostLimit = 16,
  UnsupportedVersion = 17,
  InvalidWritableAccount = 18,
  WouldExceedMaxAccountCostLimit = 19,
  WouldExceedAccountDataBlockLimit = 20,
  TooManyAccountLocks = 21,
  AddressLookupTableNotFound = 22,
  InvalidAddressLookupTableOwner = 23,
  InvalidAddressLookupTableData = 24,
  InvalidAddressLookupTableIndex = 25,
  InvalidRentPayingAccount = 26,
  WouldExceedMaxVoteCostLimit = 27,
  WouldExceedAccountDataTotalLimit = 28,
  MaxLoadedAccountsDataSizeExceeded = 29,
  ResanitizationNeeded = 30,
  InvalidLoadedAccountsDataSizeLimit = 31,
  UnbalancedTransaction = 32,
  ProgramCacheHitMaxLimit = 33,
  CommitCancelled = 34,
}

/** A program's own error. */
export class InstructionErrorCustom {
  constructor(public code: number) {}

  toString(): string {
    return describe("InstructionErrorCustom", { ...this });
  }
}

/** An error of the serialization format Borsh. Programs of today report the one without fields. */
export class InstructionErrorBorshIO {
  constructor(public msg: string) {}

  toString(): string {
    return describe("InstructionErrorBorshIO", { ...this });
  }
}

/** An instruction failed. */
export class TransactionErrorInstructionError {
  constructor(
    public index: number,
    private readonly error: InstructionError,
  ) {}

  /** The instruction's error. */
  err(): InstructionError {
    return this.error;
  }

  toString(): string {
    const error =
      typeof this.error === "number" ? InstructionErrorFieldless[this.error] : this.error;
    return describe("TransactionErrorInstructionError", { index: this.index, error });
  }
}

/** Two instructions exclude each other. */
export class TransactionErrorDuplicateInstruction {
  constructor(public index: number) {}

  toString(): string {
    return describe("TransactionErrorDuplicateInstruction", { ...this });
  }
}

/** An account would be left with less than the rent-exempt minimum. */
export class TransactionErrorInsufficientFundsForRent {
  constructor(public accountIndex: number) {}

  toString(): string {
    return describe("TransactionErrorInsufficientFundsForRent", { ...this });
  }
}

/** A program may not be executed at present. */
export class TransactionErrorProgramExecutionTemporarilyRestricted {
  constructor(public accountIndex: number) {}

  toString(): string {
    return describe("TransactionErrorProgramExecutionTemporarilyRestricted", { ...this });
  }
}

export type InstructionError =
  | InstructionErrorFieldless
  | InstructionErrorCustom
  | InstructionErrorBorshIO;

export type TransactionError =
  | TransactionErrorFieldless
  | TransactionErrorInstructionError
  | TransactionErrorDuplicateInstruction
  | TransactionErrorInsufficientFundsForRent
  | TransactionErrorProgramExecutionTemporarilyRestricted;

/** @internal */
export function transactionError(error: NativeError): TransactionError {
  const index = error.index ?? 0;
  switch (error.name) {
    case "InstructionError":
      return new TransactionErrorInstructionError(index, instructionError(error));
    case "DuplicateInstruction":
      return new TransactionErrorDuplicateInstruction(index);
    case "InsufficientFundsForRent":
      return new TransactionErrorInsufficientFundsForRent(index);
    case "ProgramExecutionTemporarilyRestricted":
      return new TransactionErrorProgramExecutionTemporarilyRestricted(index);
    default:
      return lookUp(TransactionErrorFieldless, error.name);
  }
}

function instructionError({ instruction = "", code }: NativeError): InstructionError {
  return code === undefined
    ? lookUp(InstructionErrorFieldless, instruction)
    : new InstructionErrorCustom(code);
}

function lookUp<T extends number>(errors: Record<string, T | string>, name: string): T {
  const error = errors[name];
  if (typeof error !== "number") {
    throw new Error(`the error ${name} has no number here: this is a bug in Selkie`);
  }
  return error;
}
