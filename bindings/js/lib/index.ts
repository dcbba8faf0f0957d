/** Selkie for tests in JavaScript: the calls of the `litesvm` package. */

export { ComputeBudget } from "./budget";
export * from "./errors";
export { FeatureSet } from "./features";
export { SlotHistory, SlotHistoryCheck, StakeHistory, StakeHistoryEntry } from "./histories";
export {
  Account,
  CompiledInstruction,
  FailedTransactionMetadata,
  InnerInstruction,
  SimulatedTransactionInfo,
  TransactionMetadata,
  TransactionReturnData,
} from "./results";
export { LiteSVM, LiteSVM as Svm } from "./svm";
export { Clock, EpochRewards, EpochSchedule, Rent, SlotHash } from "./sysvars";
