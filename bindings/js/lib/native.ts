/** The native part (`src/`), and how its file is found. */

export interface NativeAccount {
  address: Uint8Array;
  lamports: bigint;
  data: Uint8Array;
  owner: Uint8Array;
  executable: boolean;
}

export interface NativeError {
  name: string;
  index?: number;
  instruction?: string;
  code?: number;
}

export interface NativeInstruction {
  programIdIndex: number;
  accounts: Uint8Array;
  data: Uint8Array;
  stackHeight: number;
}

export interface NativeOutcome {
  error(): NativeError | null;
  signature(): Uint8Array;
  logs(): string[];
  prettyLogs(): string;
  innerInstructions(): NativeInstruction[][];
  computeUnits(): bigint;
  fee(): bigint;
  returnProgram(): Uint8Array;
  returnData(): Uint8Array;
  postAccounts(): NativeAccount[];
  text(isError: boolean): string;
}

export interface NativeFeatures {
  activatedSlot(feature: Uint8Array): bigint | null;
  activate(feature: Uint8Array, slot: bigint): void;
  deactivate(feature: Uint8Array): void;
  active(): Uint8Array[];
  inactive(): Uint8Array[];
  text(): string;
}

export interface NativeChain {
  toBytes(): Uint8Array;
  setComputeBudget(units: bigint, heapBytes: number): void;
  setSigverify(verifies: boolean): void;
  getSigverify(): boolean;
  setBlockhashCheck(checks: boolean): void;
  setSysvars(): void;
  setFeatureSet(features: NativeFeatures): void;
  setLamports(lamports: bigint): void;
  setDefaultPrograms(): void;
  setTransactionHistory(capacity: bigint): void;
  setLogBytesLimit(limit?: bigint | null): void;
  minimumBalance(dataBytes: bigint): bigint;
  setNativeMint(mint: Uint8Array, program: Uint8Array): void;
  getAccount(key: Uint8Array): NativeAccount | null;
  getProgramAccounts(program: Uint8Array): NativeAccount[];
  setAccount(
    key: Uint8Array,
    lamports: bigint,
    data: Uint8Array,
    owner: Uint8Array,
    executable: boolean,
  ): void;
  getBalance(key: Uint8Array): bigint | null;
  latestBlockhash(): string;
  expireBlockhash(): void;
  getTransaction(signature: Uint8Array): NativeOutcome | null;
  airdrop(key: Uint8Array, lamports: bigint): NativeOutcome;
  addProgramFromFile(id: Uint8Array, path: string): void;
  addProgram(id: Uint8Array, elf: Uint8Array, loader?: Uint8Array): void;
  send(transaction: Uint8Array): NativeOutcome;
  simulate(transaction: Uint8Array): NativeOutcome;
  getSysvar(key: Uint8Array): Uint8Array | null;
  setSysvar(key: Uint8Array, data: Uint8Array): void;
}

interface Native {
  NativeChain: {
    create(isComplete: boolean): NativeChain;
    fromBytes(bytes: Uint8Array): NativeChain;
  };
  NativeFeatures: { create(isAll: boolean): NativeFeatures };
}

/** Where the native part may be: beside a package built on this machine, or in a package of its own. */
function places(): string[] {
  const platform = `${process.platform}-${process.arch}`;
  const names = process.platform === "linux" ? [`${platform}-gnu`, `${platform}-musl`] : [platform];
  return [`../selkie.${platform}.node`, ...names.map((it) => `selkie-svm-${it}`)];
}

function load(): Native {
  const failures: string[] = [];
  for (const place of places()) {
    try {
      return require(place) as Native;
    } catch (error) {
      failures.push(`${place}: ${error instanceof Error ? error.message.split("\n")[0] : error}`);
    }
  }
  throw new Error(
    `cannot load Selkie's native part for ${process.platform}-${process.arch}. Install the package of this ` +
      `platform beside selkie-svm, or build it from source: see the README.\n  ${failures.join("\n  ")}`,
  );
}

export const native = load();
