/**
 * The scenarios that every interface of Selkie runs: `testdata/scenarios`, whose README has the format.
 * They begin in slot 1, and blockhashes change with slots, which is not so for the calls of `litesvm`.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import {
  type AccountMeta,
  AccountRole,
  type AccountSignerMeta,
  type Address,
  address,
  appendTransactionMessageInstructions,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getTransactionDecoder,
  type Instruction,
  type KeyPairSigner,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  signTransactionMessageWithSigners,
} from "@solana/kit";
import {
  FailedTransactionMetadata,
  InstructionErrorCustom,
  InstructionErrorFieldless,
  LiteSVM,
  SimulatedTransactionInfo,
  type TransactionError,
  TransactionErrorDuplicateInstruction,
  TransactionErrorFieldless,
  TransactionErrorInstructionError,
  TransactionMetadata,
} from "selkie-svm";

const FOLDER =
  process.env["SELKIE_SCENARIOS"] ?? join(__dirname, "../../../../testdata/scenarios");

interface Expect {
  error?: unknown;
  computeUnits?: number;
  fee?: number;
  logs?: string[];
  returnData?: string;
}

interface Sent {
  instructions: { program: string; accounts: [string, string][]; data: string }[];
  signers: string[];
  expect: Expect;
}

interface State {
  lamports?: number;
  owner?: string;
  data?: string;
  executable?: boolean;
}

interface Check {
  balances?: Record<string, number>;
  accounts?: Record<string, State | null>;
  slot?: number;
  rentExemption?: Record<string, number>;
}

interface Steps {
  airdrop: { to: string; lamports: number };
  setAccount: State & { address: string; lamports: number; owner: string };
  addProgram: { id: string; file: string };
  send: Sent;
  simulate: Sent;
  sendBytes: { transaction: string; expect: Expect };
  warpToSlot: { slot: number };
  expireBlockhash: Record<string, never>;
  check: Check;
}

interface Scenario {
  keypairs: string[];
  addresses: Record<string, string>;
  steps: Partial<Steps>[];
}

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
const hex = (data: ArrayLike<number>) => Buffer.from(Array.from(data)).toString("hex");

/** A chain with the names of a scenario. */
class Stage {
  readonly svm = new LiteSVM();

  private constructor(
    private readonly signers: Map<string, KeyPairSigner>,
    private readonly addresses: Record<string, string>,
  ) {
    this.svm.warpToSlot(1n);
  }

  static async of({ keypairs, addresses }: Scenario): Promise<Stage> {
    const signers = new Map<string, KeyPairSigner>();
    for (const name of keypairs) {
      const seed = createHash("sha256").update(`selkie keypair ${name}`).digest();
      signers.set(name, await createKeyPairSignerFromPrivateKeyBytes(Uint8Array.from(seed)));
    }
    return new Stage(signers, addresses);
  }

  address(name: string): Address {
    const found = this.signers.get(name)?.address ?? this.addresses[name];
    assert.ok(found, `no keypair or address is called ${name}`);
    return address(found);
  }

  signer(name: string): KeyPairSigner {
    const found = this.signers.get(name);
    assert.ok(found, `no keypair is called ${name}`);
    return found;
  }

  private account([name, flags]: [string, string]): AccountMeta | AccountSignerMeta {
    const [isSigner, isWritable] = [flags.includes("s"), flags.includes("w")];
    if (!isSigner) {
      const role = isWritable ? AccountRole.WRITABLE : AccountRole.READONLY;
      return { address: this.address(name), role };
    }
    const role = isWritable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER;
    return { address: this.address(name), role, signer: this.signer(name) };
  }

  async sign({ instructions, signers: [payer = ""] }: Sent) {
    const list = instructions.map(
      ({ program, accounts, data }): Instruction => ({
        programAddress: this.address(program),
        accounts: accounts.map((it) => this.account(it)),
        data: bytes(data),
      }),
    );
    return await pipe(
      createTransactionMessage({ version: "legacy" }),
      (it) => setTransactionMessageFeePayerSigner(this.signer(payer), it),
      (it) => appendTransactionMessageInstructions(list as never[], it),
      (it) => this.svm.setTransactionMessageLifetimeUsingLatestBlockhash(it),
      (it) => signTransactionMessageWithSigners(it),
    );
  }
}

/** An error as RPC has it in its field `err`. */
function rpcError(error: TransactionError): unknown {
  if (typeof error === "number") {
    return TransactionErrorFieldless[error];
  }
  if (error instanceof TransactionErrorInstructionError) {
    const inner = error.err();
    const isCustom = inner instanceof InstructionErrorCustom;
    const name = typeof inner === "number" ? InstructionErrorFieldless[inner] : "BorshIoError";
    return { InstructionError: [error.index, isCustom ? { Custom: inner.code } : name] };
  }
  if (error instanceof TransactionErrorDuplicateInstruction) {
    return { DuplicateInstruction: error.index };
  }
  const name = error.constructor.name.replace("TransactionError", "");
  return { [name]: { account_index: error.accountIndex } };
}

type Result = TransactionMetadata | FailedTransactionMetadata | SimulatedTransactionInfo;

function checkResult(result: Result, expect: Expect): void {
  const metadata = result instanceof TransactionMetadata ? result : result.meta();
  const hasFailed = result instanceof FailedTransactionMetadata;
  const actual: Required<Expect> = {
    error: hasFailed ? rpcError(result.err()) : null,
    computeUnits: Number(metadata.computeUnitsConsumed()),
    fee: Number(metadata.fee()),
    logs: metadata.logs(),
    returnData: hex(metadata.returnData().data()),
  };
  const given = Object.keys(expect) as (keyof Expect)[];
  assert.deepEqual(Object.fromEntries(given.map((it) => [it, actual[it]])), expect);
}

function checkState(stage: Stage, { balances, accounts, slot, rentExemption }: Check): void {
  const { svm } = stage;
  for (const [name, balance] of Object.entries(balances ?? {})) {
    assert.equal(svm.getBalance(stage.address(name)) ?? 0n, BigInt(balance), `balance of ${name}`);
  }
  for (const [name, state] of Object.entries(accounts ?? {})) {
    const account = svm.getAccount(stage.address(name));
    assert.equal(account.exists, state !== null, `whether ${name} exists`);
    if (account.exists && state !== null) {
      const known = state.owner === undefined ? {} : { owner: stage.address(state.owner) };
      const { executable, lamports, programAddress: owner } = account;
      const actual = { data: hex(account.data), executable, lamports: Number(lamports), owner };
      assert.deepEqual({ ...actual, ...state, ...known }, actual, name);
    }
  }
  if (slot !== undefined) {
    assert.equal(svm.getClock().slot, BigInt(slot));
  }
  for (const [length, balance] of Object.entries(rentExemption ?? {})) {
    assert.equal(svm.minimumBalanceForRentExemption(BigInt(length)), BigInt(balance));
  }
}

type Run = { [K in keyof Steps]: (stage: Stage, step: Steps[K]) => void | Promise<void> };

const RUN: Run = {
  airdrop(stage, { to, lamports: amount }) {
    const result = stage.svm.airdrop(stage.address(to), lamports(BigInt(amount)));
    assert.ok(result instanceof TransactionMetadata, String(result));
  },
  setAccount(stage, { address, lamports: balance, owner, data = "", executable = false }) {
    const [content, programAddress] = [bytes(data), stage.address(owner)];
    const rest = { executable, lamports: lamports(BigInt(balance)), programAddress };
    const space = BigInt(content.length);
    stage.svm.setAccount({ address: stage.address(address), data: content, space, ...rest });
  },
  addProgram(stage, { id, file }) {
    stage.svm.addProgramFromFile(stage.address(id), join(FOLDER, file));
  },
  async send(stage, step) {
    checkResult(stage.svm.sendTransaction(await stage.sign(step)), step.expect);
  },
  async simulate(stage, step) {
    checkResult(stage.svm.simulateTransaction(await stage.sign(step)), step.expect);
  },
  sendBytes(stage, { transaction, expect }) {
    const send = () =>
      stage.svm.sendTransaction(getTransactionDecoder().decode(bytes(transaction)));
    if (expect.error === "SanitizeFailure") {
      // kit's decoder throws, as it does for every transaction that is none.
      assert.throws(send);
    } else {
      checkResult(send(), expect);
    }
  },
  warpToSlot({ svm }, { slot }) {
    svm.warpToSlot(BigInt(slot));
    svm.expireBlockhash();
  },
  expireBlockhash({ svm }) {
    svm.expireBlockhash();
  },
  check: checkState,
};
const files = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
assert.ok(files.length > 0, `${FOLDER} has no scenarios`);
for (const file of files) {
  test(`scenario ${file}`, async () => {
    const scenario = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Scenario;
    const stage = await Stage.of(scenario);
    for (const [index, step] of scenario.steps.entries()) {
      for (const [name, fields] of Object.entries(step)) {
        const run = RUN[name as keyof Steps] as ((s: Stage, f: unknown) => unknown) | undefined;
        assert.ok(run, `step ${index}: there is no step ${name}`);
        await Promise.resolve(run(stage, fields)).catch((error: Error) => {
          error.message = `step ${index} (${name}): ${error.message}`;
          throw error;
        });
      }
    }
  });
}
