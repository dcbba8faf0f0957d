// What the node answers, as far as the pages read it.

export type Err = string | Record<string, unknown>;

export interface Parsed {
  programId: string;
  program?: string;
  parsed?: string | { type: string; info?: Record<string, unknown> };
  accounts?: string[];
  data?: string;
  stackHeight?: number | null;
}

export interface Key {
  pubkey: string;
  signer: boolean;
  writable: boolean;
  source: string;
}

export interface TokenBalance {
  accountIndex: number;
  mint: string;
  owner?: string;
  uiTokenAmount: { amount: string; decimals: number };
}

export interface Meta {
  err: Err | null;
  fee: number;
  computeUnitsConsumed?: number;
  innerInstructions?: { index: number; instructions: Parsed[] }[] | null;
  logMessages?: string[] | null;
  preBalances: (number | bigint)[];
  postBalances: (number | bigint)[];
  preTokenBalances?: TokenBalance[] | null;
  postTokenBalances?: TokenBalance[] | null;
  returnData?: { programId: string; data: [string, string] };
}

/** What the node knows about an instruction by its program's rows or description. */
export interface Described {
  name: string;
  info: Record<string, unknown>;
  accounts: (string | null)[];
  message?: string | null;
}

export interface Landed {
  /** The name of the program's own error that ended it. */
  errorName?: string;
  slot: number;
  blockTime: number | null;
  version: string | number;
  meta: Meta;
  transaction: {
    signatures: string[];
    message: { accountKeys: Key[]; instructions: Parsed[]; recentBlockhash: string };
  };
}

export interface Frame {
  program: string;
  accounts: string[];
  data: string;
  stackHeight: number;
  computeUnits: number;
  selfComputeUnits: number;
  logs: string[];
  inner: Frame[];
  described?: Described;
}

export interface Diff {
  account: string;
  bytesBefore: number;
  bytesAfter: number;
  ownerBefore: string;
  ownerAfter: string;
  isTruncated: boolean;
  ranges: { offset: number; before: string; after: string }[];
  /** The fields that changed, with the text of their values; null where there was no such field. */
  fields: { path: string; before: string | null; after: string | null }[];
}

export interface Trace {
  frames: Frame[];
  logs: string[];
  notes: string[];
  err: Err | null;
  computeUnits: number;
  computeUnitLimit: number;
  accountDiffs: Diff[];
  preBalances: (number | bigint)[];
  postBalances: (number | bigint)[];
}

export interface Explained {
  errorName: string | null;
  explanations: string[];
  failedProgram: string | null;
  place: string[];
  steps: number;
  invocations: { program: string; name: string }[];
  source: {
    file: string;
    shown: string;
    line: number;
    column: number | null;
    function: string | null;
    lines: { number: number; text: string }[];
  } | null;
}

export interface Account {
  lamports: number | bigint;
  owner: string;
  executable: boolean;
  space: number;
  data: [string, string] | { program: string; parsed: unknown; space: number };
}

export interface Disassembled {
  bytes: number;
  slots: number;
  version: string;
  name: string | null;
  debugFile: string | null;
  functions: { pc: number; name: string; stackBytes: number | null }[];
  instructions: { pc: number; text: string; comment: string | null; line: string | null }[];
}
