// Numbers, names and errors for people.

import type { Err, Parsed } from "./types";

export const SYSTEM = "11111111111111111111111111111111";
export const UPGRADEABLE = "BPFLoaderUpgradeab1e11111111111111111111111";

const NAMES: Record<string, string> = {
  [SYSTEM]: "System",
  TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA: "Token",
  TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb: "Token-2022",
  ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL: "Associated Token",
  MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr: "Memo",
  Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo: "Memo v1",
  ComputeBudget111111111111111111111111111111: "Compute Budget",
  AddressLookupTab1e1111111111111111111111111: "Address Lookup Table",
  Stake11111111111111111111111111111111111111: "Stake",
  Vote111111111111111111111111111111111111111: "Vote",
  Config1111111111111111111111111111111111111: "Config",
  NativeLoader1111111111111111111111111111111: "Native Loader",
  BPFLoader1111111111111111111111111111111111: "Loader v1",
  BPFLoader2111111111111111111111111111111111: "Loader v2",
  [UPGRADEABLE]: "Upgradeable Loader",
  LoaderV411111111111111111111111111111111111: "Loader v4",
  Ed25519SigVerify111111111111111111111111111: "Ed25519",
  KeccakSecp256k11111111111111111111111111111: "Secp256k1",
  Secp256r1SigVerify1111111111111111111111111: "Secp256r1",
  ZkE1Gama1Proof11111111111111111111111111111: "ZK ElGamal Proof",
  Sysvar1111111111111111111111111111111111111: "Sysvar owner",
  SysvarC1ock11111111111111111111111111111111: "Clock sysvar",
  SysvarRent111111111111111111111111111111111: "Rent sysvar",
  SysvarEpochSchedu1e111111111111111111111111: "Epoch schedule sysvar",
  SysvarRecentB1ockHashes11111111111111111111: "Recent blockhashes sysvar",
  SysvarS1otHashes111111111111111111111111111: "Slot hashes sysvar",
  SysvarStakeHistory1111111111111111111111111: "Stake history sysvar",
  Sysvar1nstructions1111111111111111111111111: "Instructions sysvar",
  So11111111111111111111111111111111111111112: "Wrapped SOL",
};

/** Names an address; what is learnt from the node comes on top of the well-known ones. */
export const nameOf = (address: string): string | undefined => NAMES[address];

export function learnName(address: string, name: string) {
  NAMES[address] ??= name;
}

export const short = (text: string, length = 4) =>
  text.length > 2 * length + 1 ? `${text.slice(0, length)}…${text.slice(-length)}` : text;

/** Digits in groups of three. */
export function count(value: number | bigint | string | undefined | null): string {
  if (value === undefined || value === null) return "–";
  const [whole, part] = String(value).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  return part ? `${grouped}.${part}` : grouped;
}

/** A number with its noun. */
export const counted = (value: number, noun: string) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** Lamports as SOL with all digits that matter. */
export function sol(lamports: number | bigint): string {
  return decimal(BigInt(lamports), 9);
}

export function decimal(value: bigint, decimals: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, "0");
  const whole = count(digits.slice(0, digits.length - decimals));
  const part = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${value < 0n ? "−" : ""}${whole}${part && decimals ? `.${part}` : ""}`;
}

export const signed = (text: string) => (text.startsWith("−") ? text : `+${text}`);

export function ago(seconds: number, now: number): string {
  const past = Math.round(now - seconds);
  // The node's clock may be ahead after time travel.
  if (past < -2) return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  if (past < 2) return "now";
  if (past < 60) return `${past} s ago`;
  if (past < 3600) return `${Math.floor(past / 60)} min ago`;
  if (past < 86400) return `${Math.floor(past / 3600)} h ago`;
  return `${Math.floor(past / 86400)} d ago`;
}

export const time = (seconds: number | bigint | null | undefined) =>
  seconds == null ? "–" : new Date(Number(seconds) * 1000).toISOString().slice(0, 19).replace("T", " ") + " UTC";

/** `initializeAccount3` as `Initialize Account 3`. */
export function title(name: string): string {
  const words = name.replace(/([a-z])([A-Z0-9])/g, "$1 $2").replace(/_/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Names an instruction as the node decoded it. */
export function instructionName(it: Parsed | undefined): string | undefined {
  if (!it?.parsed) return undefined;
  if (typeof it.parsed === "string") return `“${it.parsed.length > 48 ? `${it.parsed.slice(0, 47)}…` : it.parsed}”`;
  return title(it.parsed.type);
}

const MEANINGS: Record<string, string> = {
  InsufficientFundsForFee: "The fee payer has fewer lamports than the fee.",
  InsufficientFundsForRent: "An account would be left with fewer lamports than its size requires.",
  AccountNotFound: "The fee payer has no account: give it lamports first.",
  ProgramAccountNotFound: "One of the programs does not exist on this node.",
  BlockhashNotFound: "The blockhash is too old or from another cluster.",
  AlreadyProcessed: "The same transaction has landed before.",
  MissingRequiredSignature: "An account that must sign did not.",
  InvalidAccountData: "The data of an account is not what the program expects.",
  InvalidInstructionData: "The program could not read its instruction data.",
  InvalidArgument: "The program refused an argument.",
  InsufficientFunds: "An account has too few lamports or tokens.",
  IncorrectProgramId: "An account or instruction belongs to another program.",
  IllegalOwner: "An account has another owner than the program expects.",
  InvalidAccountOwner: "An account has another owner than the program expects.",
  AccountAlreadyInitialized: "An account was initialised before.",
  UninitializedAccount: "An account has not been initialised.",
  NotEnoughAccountKeys: "The instruction names too few accounts.",
  ExternalAccountDataModified: "The program changed data of an account that it does not own.",
  ExternalAccountLamportSpend: "The program took lamports from an account that it does not own.",
  ReadonlyDataModified: "The program changed data of an account that is read-only here.",
  ReadonlyLamportChange: "The program changed the balance of an account that is read-only here.",
  UnbalancedInstruction: "The sum of lamports before and after the instruction differs.",
  PrivilegeEscalation: "A call asked for a signature or write access that the caller does not have.",
  ProgramFailedToComplete: "The program was stopped: it panicked, left its memory, or executed something invalid.",
  ComputationalBudgetExceeded: "The program used up its compute units.",
  MaxSeedLengthExceeded: "A seed is longer than 32 bytes.",
  InvalidSeeds: "The seeds give no address off the curve, or another address.",
  AccountBorrowFailed: "An account is borrowed already.",
  UnsupportedProgramId: "The program cannot be executed.",
};

/** An error in words: a headline, what it means, and the instruction that it names. */
export function explainError(err: Err): { name: string; meaning?: string; instruction?: number; code?: number } {
  if (typeof err === "string") return { name: title(err), meaning: MEANINGS[err] };
  const [kind, detail] = Object.entries(err as Record<string, unknown>)[0] ?? ["Unknown", null];
  if (kind === "InstructionError" && Array.isArray(detail)) {
    const [instruction, inner] = detail as [number, unknown];
    if (typeof inner === "string") return { name: title(inner), meaning: MEANINGS[inner], instruction };
    const [name, code] = Object.entries(inner as Record<string, unknown>)[0] ?? ["Unknown", null];
    if (name === "Custom") {
      return { name: `Custom error ${code} (0x${Number(code).toString(16)})`, instruction, code: Number(code) };
    }
    return { name: title(name), meaning: MEANINGS[name], instruction };
  }
  return { name: title(kind), meaning: MEANINGS[kind] };
}

/** A hue that stays the same for an address. */
export function hue(text: string): number {
  let hash = 2166136261;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 16777619);
  return (hash >>> 0) % 360;
}
