// Deployments by @solana/web3.js 1.x: buffer, deploy, call, extend, upgrade, authority, close.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Connection,
  Keypair,
  LAMPORTS_PER_SOL,
  PublicKey,
  SYSVAR_CLOCK_PUBKEY,
  SYSVAR_RENT_PUBKEY,
  SystemProgram,
  Transaction,
  TransactionInstruction,
  sendAndConfirmTransaction,
} from "@solana/web3.js";
import { run, startNode } from "./lib.mjs";

const LOADER = new PublicKey("BPFLoaderUpgradeab1e11111111111111111111111");
/** Bytes before the ELF file in a buffer and in programdata; the size of a program account. */
const [BUFFER_HEADER, DATA_HEADER, PROGRAM_BYTES] = [37, 45, 36];
/** Bytes of a file that fit into one transaction. */
const CHUNK = 900;

/** Assembles a program that logs a text, and returns its file. */
function assemble(text) {
  const folder = mkdtempSync(join(tmpdir(), "selkie-deploy-"));
  const source = `.globl entrypoint
entrypoint:
    lddw r1, message
    mov64 r2, ${text.length}
    call sol_log_
    mov64 r0, 0
    exit
.rodata
message: .ascii "${text}"
`;
  writeFileSync(join(folder, "program.s"), source);
  const program = join(folder, "program.so");
  execFileSync(process.env.SELKIE, ["build", join(folder, "program.s"), "-o", program]);
  return readFileSync(program);
}

const writable = (pubkey) => ({ pubkey, isSigner: false, isWritable: true });
const readable = (pubkey) => ({ pubkey, isSigner: false, isWritable: false });
const signer = (pubkey) => ({ pubkey, isSigner: true, isWritable: false });

function instruction(tag, keys, ...data) {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(tag);
  return new TransactionInstruction({ programId: LOADER, keys, data: Buffer.concat([head, ...data]) });
}

function u64(value) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function u32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

const programData = (program) =>
  PublicKey.findProgramAddressSync([program.toBytes()], LOADER)[0];

/** Creates a buffer and writes a file into it, all parts in parallel. */
async function fillBuffer(connection, payer, file) {
  const buffer = Keypair.generate();
  const space = BUFFER_HEADER + file.length;
  const create = new Transaction().add(
    SystemProgram.createAccount({
      fromPubkey: payer.publicKey,
      newAccountPubkey: buffer.publicKey,
      space,
      lamports: await connection.getMinimumBalanceForRentExemption(space),
      programId: LOADER,
    }),
    instruction(0, [writable(buffer.publicKey), readable(payer.publicKey)]),
  );
  await sendAndConfirmTransaction(connection, create, [payer, buffer]);
  const writes = [];
  for (let offset = 0; offset < file.length; offset += CHUNK) {
    const bytes = file.subarray(offset, offset + CHUNK);
    const keys = [writable(buffer.publicKey), signer(payer.publicKey)];
    const write = instruction(1, keys, u32(offset), u64(bytes.length), bytes);
    writes.push(sendAndConfirmTransaction(connection, new Transaction().add(write), [payer]));
  }
  await Promise.all(writes);
  const written = await connection.getAccountInfo(buffer.publicKey);
  assert.deepEqual(written.data.subarray(BUFFER_HEADER), file);
  return buffer.publicKey;
}

async function deploy(connection, payer, file) {
  const program = Keypair.generate();
  const buffer = await fillBuffer(connection, payer, file);
  const transaction = new Transaction().add(
    SystemProgram.createAccount({
      fromPubkey: payer.publicKey,
      newAccountPubkey: program.publicKey,
      space: PROGRAM_BYTES,
      lamports: await connection.getMinimumBalanceForRentExemption(PROGRAM_BYTES),
      programId: LOADER,
    }),
    instruction(
      2,
      [
        { pubkey: payer.publicKey, isSigner: true, isWritable: true },
        writable(programData(program.publicKey)),
        writable(program.publicKey),
        writable(buffer),
        readable(SYSVAR_RENT_PUBKEY),
        readable(SYSVAR_CLOCK_PUBKEY),
        readable(SystemProgram.programId),
        signer(payer.publicKey),
      ],
      u64(file.length),
    ),
  );
  await sendAndConfirmTransaction(connection, transaction, [payer, program]);
  return program.publicKey;
}

async function upgrade(connection, payer, program, file) {
  const buffer = await fillBuffer(connection, payer, file);
  const keys = [
    writable(programData(program)),
    writable(program),
    writable(buffer),
    writable(payer.publicKey),
    readable(SYSVAR_RENT_PUBKEY),
    readable(SYSVAR_CLOCK_PUBKEY),
    signer(payer.publicKey),
  ];
  await sendAndConfirmTransaction(connection, new Transaction().add(instruction(3, keys)), [payer]);
}

/** Calls a program as soon as a new block lets it, and returns its logs. */
async function call(connection, payer, program) {
  const transaction = new Transaction().add(
    new TransactionInstruction({ programId: program, keys: [], data: Buffer.alloc(0) }),
  );
  const signature = await sendAndConfirmTransaction(connection, transaction, [payer], {
    commitment: "confirmed",
  });
  const found = await connection.getTransaction(signature, {
    commitment: "confirmed",
    maxSupportedTransactionVersion: 0,
  });
  return found.meta.logMessages.join("\n");
}

const cases = {
  async "deployment, call, upgrade, call"({ connection, payer }) {
    const program = await deploy(connection, payer, assemble("the first version"));
    assert.match(await call(connection, payer, program), /the first version/);
    const account = await connection.getAccountInfo(program);
    assert.equal(account.executable, true);
    const parsed = await connection.getParsedAccountInfo(program);
    assert.equal(parsed.value.data.parsed.info.programData, String(programData(program)));
    await upgrade(connection, payer, program, assemble("the 2nd   version"));
    assert.match(await call(connection, payer, program), /the 2nd {3}version/);
  },

  async "a larger file after an extension"({ connection, payer }) {
    const program = await deploy(connection, payer, assemble("short"));
    const long = assemble("long ".repeat(600));
    const before = await connection.getAccountInfo(programData(program));
    const keys = [
      writable(programData(program)),
      writable(program),
      readable(SystemProgram.programId),
      { pubkey: payer.publicKey, isSigner: true, isWritable: true },
    ];
    const extend = new Transaction().add(instruction(6, keys, u32(10240)));
    await sendAndConfirmTransaction(connection, extend, [payer]);
    const after = await connection.getAccountInfo(programData(program));
    assert.equal(after.data.length, before.data.length + 10240);
    await upgrade(connection, payer, program, long);
    assert.match(await call(connection, payer, program), /long long/);
  },

  async "another authority, which alone may upgrade"({ connection, payer }) {
    const program = await deploy(connection, payer, assemble("mine"));
    const other = Keypair.generate();
    const keys = [writable(programData(program)), signer(payer.publicKey), readable(other.publicKey)];
    await sendAndConfirmTransaction(connection, new Transaction().add(instruction(4, keys)), [payer]);
    const data = await connection.getParsedAccountInfo(programData(program));
    assert.equal(data.value.data.parsed.info.authority, String(other.publicKey));
    await assert.rejects(
      upgrade(connection, payer, program, assemble("mine")),
      /Incorrect authority|incorrect authority|IncorrectAuthority/i,
    );
  },

  async "a closed program cannot be called"({ connection, payer }) {
    const program = await deploy(connection, payer, assemble("gone"));
    await call(connection, payer, program);
    const keys = [
      writable(programData(program)),
      writable(payer.publicKey),
      signer(payer.publicKey),
      writable(program),
    ];
    await sendAndConfirmTransaction(connection, new Transaction().add(instruction(5, keys)), [payer]);
    assert.equal(await connection.getAccountInfo(programData(program)), null);
    await assert.rejects(call(connection, payer, program));
  },

  async "a file that is no program is refused"({ connection, payer }) {
    await assert.rejects(deploy(connection, payer, Buffer.alloc(100)), /invalid account data/i);
  },

  async "all programs of the loader are found"({ connection, payer }) {
    const program = await deploy(connection, payer, assemble("found"));
    const found = await connection.getProgramAccounts(LOADER, {
      filters: [{ dataSize: PROGRAM_BYTES }],
    });
    assert.ok(found.some((it) => it.pubkey.equals(program)));
    const data = await connection.getAccountInfo(programData(program));
    assert.equal(data.data.subarray(DATA_HEADER, DATA_HEADER + 4).toString("latin1"), "\x7fELF");
  },
};

const { url, ws, stop } = await startNode();
const connection = new Connection(url, { commitment: "confirmed", wsEndpoint: ws });
const payer = Keypair.generate();
const signature = await connection.requestAirdrop(payer.publicKey, 1000 * LAMPORTS_PER_SOL);
await connection.confirmTransaction({ signature, ...(await connection.getLatestBlockhash()) });
await run(cases, { connection, payer }, stop);
