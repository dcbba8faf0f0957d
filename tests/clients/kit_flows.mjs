// @solana/kit: nonces, lookup tables, extensions of Token-2022, history, subscriptions, simulations.

import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import {
  AccountRole,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE as PREFLIGHT,
  SOLANA_ERROR__TRANSACTION_ERROR__BLOCKHASH_NOT_FOUND as BLOCKHASH_NOT_FOUND,
  airdropFactory,
  appendTransactionMessageInstructions,
  assertIsTransactionWithDurableNonceLifetime,
  compressTransactionMessageUsingAddressLookupTables,
  createSolanaRpc,
  createSolanaRpcSubscriptions_UNSTABLE as createSolanaRpcSubscriptions,
  createTransactionMessage,
  fetchAddressesForLookupTables,
  fetchEncodedAccounts,
  fetchJsonParsedAccount,
  generateKeyPairSigner,
  getAddressEncoder,
  getBase64EncodedWireTransaction,
  getProgramDerivedAddress,
  getSignatureFromTransaction,
  getU64Encoder,
  isSolanaError,
  lamports,
  pipe,
  sendAndConfirmDurableNonceTransactionFactory,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLifetimeUsingDurableNonce,
  signTransactionMessageWithSigners,
} from "@solana/kit";
import { estimateComputeUnitLimitFactory } from "@solana-program/compute-budget";
import { getAddMemoInstruction } from "@solana-program/memo";
import * as system from "@solana-program/system";
import * as token from "@solana-program/token";
import * as sysvars from "@solana/sysvars";
import { run, startNode } from "./lib.mjs";

const TABLES = "AddressLookupTab1e1111111111111111111111111";
const TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
const CONFIRMED = { commitment: "confirmed" };

async function funded({ airdrop }, sol = 10n) {
  const signer = await generateKeyPairSigner();
  const amount = lamports(sol * 1_000_000_000n);
  await airdrop({ recipientAddress: signer.address, lamports: amount, ...CONFIRMED });
  return signer;
}

async function message({ rpc }, payer, instructions, version = 0) {
  const { value: latest } = await rpc.getLatestBlockhash(CONFIRMED).send();
  return pipe(
    createTransactionMessage({ version }),
    (it) => setTransactionMessageFeePayerSigner(payer, it),
    (it) => setTransactionMessageLifetimeUsingBlockhash(latest, it),
    (it) => appendTransactionMessageInstructions(instructions, it),
  );
}

async function sendMessage(context, message) {
  const transaction = await signTransactionMessageWithSigners(message);
  await context.sendAndConfirm(transaction, CONFIRMED);
  return getSignatureFromTransaction(transaction);
}

async function send(context, payer, instructions) {
  return sendMessage(context, await message(context, payer, instructions));
}

function transfer(source, destination, amount) {
  return system.getTransferSolInstruction({ source, destination, amount });
}

async function address() {
  return (await generateKeyPairSigner()).address;
}

function instruction(programAddress, accounts, ...data) {
  return { programAddress, accounts, data: Uint8Array.from(data.flatMap((it) => [...it])) };
}

const signing = (signer, role) => ({ address: signer.address, role, signer });
const writable = (address) => ({ address, role: AccountRole.WRITABLE });
const readable = (address) => ({ address, role: AccountRole.READONLY });
const bytesOf = (address) => getAddressEncoder().encode(address);
const u32 = (value) => [value & 255, (value >> 8) & 255, (value >> 16) & 255, value >>> 24];

/** Starts a subscription and returns its notifications one by one. */
async function listen(pending, signal) {
  const iterable = await pending.subscribe({ abortSignal: signal });
  const iterator = iterable[Symbol.asyncIterator]();
  // What arrives before the first call of `next` is dropped.
  let ahead = iterator.next();
  return async () => {
    const { value } = await ahead;
    ahead = iterator.next();
    ahead.catch(() => {});
    return value;
  };
}

async function newTable(context, payer, addresses) {
  const slot = await context.rpc.getSlot({ commitment: "finalized" }).send();
  const seed = getU64Encoder().encode(slot);
  const [table, bump] = await getProgramDerivedAddress({
    programAddress: TABLES, seeds: [bytesOf(payer.address), seed],
  });
  const signer = AccountRole.READONLY_SIGNER;
  const create = instruction(
    TABLES,
    [writable(table), signing(payer, signer), signing(payer, AccountRole.WRITABLE_SIGNER), readable(system.SYSTEM_PROGRAM_ADDRESS)],
    u32(0), seed, [bump],
  );
  const extend = instruction(
    TABLES,
    [writable(table), signing(payer, signer), signing(payer, AccountRole.WRITABLE_SIGNER), readable(system.SYSTEM_PROGRAM_ADDRESS)],
    u32(2), getU64Encoder().encode(addresses.length), ...addresses.map(bytesOf),
  );
  await send(context, payer, [create, extend]);
  return table;
}

async function newMint(context, payer, decimals, program, extensions = [], size = 82) {
  const mint = await generateKeyPairSigner();
  const rent = await context.rpc.getMinimumBalanceForRentExemption(BigInt(size)).send();
  const create = system.getCreateAccountInstruction({
    payer, newAccount: mint, lamports: rent, space: size, programAddress: program,
  });
  const initialize = token.getInitializeMint2Instruction(
    { mint: mint.address, decimals, mintAuthority: payer.address }, { programAddress: program },
  );
  const signature = await send(context, payer, [create, ...extensions.map((it) => it(mint)), initialize]);
  return { mint: mint.address, signature };
}

const cases = {
  async "durable nonce"(context) {
    const { rpc, rpcSubscriptions } = context;
    const [payer, nonce, to] = [await funded(context), await generateKeyPairSigner(), await address()];
    const size = system.getNonceSize();
    const rent = await rpc.getMinimumBalanceForRentExemption(BigInt(size)).send();
    await send(context, payer, [
      system.getCreateAccountInstruction({
        payer, newAccount: nonce, lamports: rent, space: size, programAddress: system.SYSTEM_PROGRAM_ADDRESS,
      }),
      system.getInitializeNonceAccountInstruction({
        nonceAccount: nonce.address, nonceAuthority: payer.address,
      }),
    ]);
    const before = await system.fetchNonce(rpc, nonce.address, CONFIRMED);
    assert.equal(before.data.state, system.NonceState.Initialized);
    const transaction = await signTransactionMessageWithSigners(
      pipe(
        createTransactionMessage({ version: 0 }),
        (it) => setTransactionMessageFeePayerSigner(payer, it),
        (it) => setTransactionMessageLifetimeUsingDurableNonce({
          nonce: before.data.blockhash, nonceAccountAddress: nonce.address, nonceAuthorityAddress: payer.address,
        }, it),
        (it) => appendTransactionMessageInstructions([transfer(payer, to, 1_000_000n)], it),
      ),
    );
    assertIsTransactionWithDurableNonceLifetime(transaction);
    const confirm = sendAndConfirmDurableNonceTransactionFactory({ rpc, rpcSubscriptions });
    await confirm(transaction, CONFIRMED);
    assert.equal((await rpc.getBalance(to, CONFIRMED).send()).value, 1_000_000n);
    const after = await system.fetchNonce(rpc, nonce.address, CONFIRMED);
    assert.notEqual(after.data.blockhash, before.data.blockhash);
    // The nonce has advanced, so the same transaction cannot be processed again.
    await assert.rejects(confirm(transaction, CONFIRMED));
    const parsed = await fetchJsonParsedAccount(rpc, nonce.address, CONFIRMED);
    assert.equal(parsed.data.parsedAccountMeta.program, "nonce");
    assert.equal(parsed.data.blockhash, after.data.blockhash);
  },

  async "lookup table"(context) {
    const { rpc } = context;
    const [payer, to] = [await funded(context), await address()];
    const table = await newTable(context, payer, [to, await address()]);
    const addresses = await fetchAddressesForLookupTables([table], rpc, CONFIRMED);
    assert.equal(addresses[table][0], to);
    const compressed = compressTransactionMessageUsingAddressLookupTables(
      await message(context, payer, [transfer(payer, to, 1_000_000n)]), addresses,
    );
    const signature = await sendMessage(context, compressed);
    const config = { maxSupportedTransactionVersion: 0, ...CONFIRMED };
    const landed = await rpc.getTransaction(signature, { encoding: "json", ...config }).send();
    assert.deepEqual(landed.meta.loadedAddresses, { readonly: [], writable: [to] });
    assert.deepEqual(landed.transaction.message.addressTableLookups, [
      { accountKey: table, readonlyIndexes: [], writableIndexes: [0] },
    ]);
    const parsed = await rpc.getTransaction(signature, { encoding: "jsonParsed", ...config }).send();
    const last = parsed.transaction.message.accountKeys.at(-1);
    assert.deepEqual(last, { pubkey: to, signer: false, source: "lookupTable", writable: true });
    const account = await fetchJsonParsedAccount(rpc, table, CONFIRMED);
    assert.equal(account.data.authority, payer.address);
    assert.equal(account.data.deactivationSlot, "18446744073709551615");
    const history = await rpc.getSignaturesForAddress(to, CONFIRMED).send();
    assert.equal(history[0].signature, signature);
  },

  async "Token-2022 with extensions"(context) {
    const { rpc } = context;
    const payer = await funded(context);
    const authority = [1, ...bytesOf(payer.address)];
    const fees = (mint) => instruction(
      TOKEN_2022, [writable(mint.address)], [26, 0], authority, authority, [100, 0], getU64Encoder().encode(5_000n),
    );
    const interest = (mint) => instruction(TOKEN_2022, [writable(mint.address)], [33, 0], bytesOf(payer.address), [0, 0]);
    const close = (mint) => instruction(TOKEN_2022, [writable(mint.address)], [25], authority);
    // The base, its padding and type, then each extension with type and length.
    const size = 166 + (4 + 108) + (4 + 52) + (4 + 32);
    const { mint, signature } = await newMint(context, payer, 6, TOKEN_2022, [fees, interest, close], size);
    const account = await fetchJsonParsedAccount(rpc, mint, CONFIRMED);
    assert.equal(account.data.parsedAccountMeta.program, "spl-token-2022");
    assert.deepEqual(
      account.data.extensions.map((it) => it.extension).sort(),
      ["interestBearingConfig", "mintCloseAuthority", "transferFeeConfig"],
    );
    const landed = await rpc
      .getTransaction(signature, { encoding: "jsonParsed", maxSupportedTransactionVersion: 0, ...CONFIRMED })
      .send();
    assert.deepEqual(
      landed.transaction.message.instructions.map((it) => it.parsed.type),
      [
        "createAccount", "initializeTransferFeeConfig", "initializeInterestBearingConfig",
        "initializeMintCloseAuthority", "initializeMint2",
      ],
    );
    const owner = await address();
    const [ata] = await token.findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_2022 });
    const created = await send(context, payer, [
      token.getCreateAssociatedTokenIdempotentInstruction({ payer, ata, owner, mint, tokenProgram: TOKEN_2022 }),
      token.getMintToInstruction(
        { mint, token: ata, mintAuthority: payer, amount: 2_500_000n }, { programAddress: TOKEN_2022 },
      ),
    ]);
    const { value: supply } = await rpc.getTokenSupply(mint, CONFIRMED).send();
    assert.equal(supply.amount, "2500000");
    const { value: owned } = await rpc
      .getTokenAccountsByOwner(owner, { programId: TOKEN_2022 }, { encoding: "jsonParsed", ...CONFIRMED })
      .send();
    assert.deepEqual(
      owned[0].account.data.parsed.info.extensions.map((it) => it.extension).sort(),
      ["immutableOwner", "transferFeeAmount"],
    );
    const inner = await rpc
      .getTransaction(created, { encoding: "jsonParsed", maxSupportedTransactionVersion: 0, ...CONFIRMED })
      .send();
    assert.deepEqual(
      inner.meta.innerInstructions[0].instructions.map((it) => it.parsed.type),
      ["getAccountDataSize", "createAccount", "initializeImmutableOwner", "initializeAccount3"],
    );
    assert.equal(inner.meta.innerInstructions[0].instructions[1].stackHeight, 2);
    assert.equal(inner.meta.postTokenBalances[0].programId, TOKEN_2022);
  },

  async "history in pages"(context) {
    const { rpc } = context;
    const [payer, to] = [await funded(context), await address()];
    const sent = [];
    for (let index = 0; index < 7; index += 1) {
      const memo = getAddMemoInstruction({ memo: `page ${index}` });
      sent.unshift(await send(context, payer, [transfer(payer, to, 1_000_000n), memo]));
    }
    const pages = [];
    let before;
    for (;;) {
      const page = await rpc.getSignaturesForAddress(to, { limit: 3, before, ...CONFIRMED }).send();
      if (page.length === 0) break;
      pages.push(page);
      before = page.at(-1).signature;
    }
    assert.deepEqual(pages.map((it) => it.length), [3, 3, 1]);
    assert.deepEqual(pages.flat().map((it) => it.signature), sent);
    assert.equal(pages[0][0].memo, "[6] page 6");
    const until = await rpc.getSignaturesForAddress(to, { until: sent[2], ...CONFIRMED }).send();
    assert.deepEqual(until.map((it) => it.signature), sent.slice(0, 2));
    const slots = pages.flat().map((it) => it.slot);
    const blocks = await rpc.getBlocks(slots.at(-1), slots[0], CONFIRMED).send();
    assert.ok(slots.every((slot) => blocks.includes(slot)));
    const limited = await rpc.getBlocksWithLimit(slots.at(-1), 2, CONFIRMED).send();
    assert.equal(limited.length, 2);
    const block = await rpc
      .getBlock(slots[0], { transactionDetails: "accounts", maxSupportedTransactionVersion: 0, rewards: false, ...CONFIRMED })
      .send();
    assert.ok(block.transactions.some((it) => it.transaction.signatures[0] === sent[0]));
    await assert.rejects(rpc.getSignaturesForAddress(to, { limit: 1001 }).send(), /Invalid limit; max 1000/);
  },

  async "subscriptions of every kind"(context) {
    const { rpcSubscriptions: subscriptions } = context;
    const [payer, to] = [await funded(context), await address()];
    const abort = new AbortController();
    setMaxListeners(50, abort.signal);
    const on = (pending) => listen(pending, abort.signal);
    const account = await on(subscriptions.accountNotifications(to, { encoding: "base64", ...CONFIRMED }));
    const parsed = await on(subscriptions.accountNotifications(to, { encoding: "jsonParsed", ...CONFIRMED }));
    const logs = await on(subscriptions.logsNotifications({ mentions: [to] }, CONFIRMED));
    const all = await on(subscriptions.logsNotifications("all", CONFIRMED));
    const slot = await on(subscriptions.slotNotifications());
    const root = await on(subscriptions.rootNotifications());
    const updates = await on(subscriptions.slotsUpdatesNotifications());
    const block = await on(
      subscriptions.blockNotifications(
        { mentionsAccountOrProgram: to },
        { encoding: "jsonParsed", maxSupportedTransactionVersion: 0, ...CONFIRMED },
      ),
    );
    const program = await on(
      subscriptions.programNotifications(system.SYSTEM_PROGRAM_ADDRESS, {
        encoding: "base64", filters: [{ dataSize: 0n }], ...CONFIRMED,
      }),
    );
    const prepared = await signTransactionMessageWithSigners(
      await message(context, payer, [transfer(payer, to, 1_000_000n)]),
    );
    const signature = getSignatureFromTransaction(prepared);
    const status = await on(subscriptions.signatureNotifications(signature, CONFIRMED));
    await context.sendAndConfirm(prepared, CONFIRMED);
    assert.equal((await status()).value.err, null);
    const changed = await account();
    assert.equal(changed.value.lamports, 1_000_000n);
    assert.deepEqual(changed.value.data, ["", "base64"]);
    assert.equal((await parsed()).value.owner, system.SYSTEM_PROGRAM_ADDRESS);
    assert.deepEqual((await logs()).value, {
      signature, err: null,
      logs: [
        "Program 11111111111111111111111111111111 invoke [1]",
        "Program 11111111111111111111111111111111 success",
      ],
    });
    assert.equal((await all()).value.signature, signature);
    const { slot: number, parent, root: rooted } = await slot();
    assert.ok(number > parent && parent >= rooted);
    assert.equal(typeof (await root()), "bigint");
    assert.equal(typeof (await updates()).timestamp, "bigint");
    const { value: notified } = await block();
    assert.equal(notified.err, null);
    assert.equal(notified.block.transactions.length, 1);
    assert.equal(notified.block.transactions[0].transaction.signatures[0], signature);
    // The node's identity, which collects the fee, is the third.
    const keys = [];
    for (let count = 0; count < 3; count += 1) keys.push((await program()).value.pubkey);
    assert.ok(keys.includes(payer.address) && keys.includes(to));
    // What has landed is notified at once.
    const late = await on(
      // Kit would share the subscription above, which has ended, if the commitment were the same.
      subscriptions.signatureNotifications(signature, { commitment: "processed" }),
    );
    assert.equal((await late()).value.err, null);
    abort.abort();
  },

  async "simulation with accounts and inner instructions"(context) {
    const { rpc } = context;
    const [payer, owner] = [await funded(context), await address()];
    const { mint } = await newMint(context, payer, 3, token.TOKEN_PROGRAM_ADDRESS);
    const [ata] = await token.findAssociatedTokenPda({ owner, mint, tokenProgram: token.TOKEN_PROGRAM_ADDRESS });
    const built = await message(context, payer, [
      token.getCreateAssociatedTokenIdempotentInstruction({ payer, ata, owner, mint }),
      token.getMintToInstruction({ mint, token: ata, mintAuthority: payer, amount: 77n }),
    ]);
    const wire = getBase64EncodedWireTransaction(await signTransactionMessageWithSigners(built));
    const config = { encoding: "base64", innerInstructions: true, ...CONFIRMED };
    const { value } = await rpc
      .simulateTransaction(wire, {
        sigVerify: true, accounts: { encoding: "jsonParsed", addresses: [ata, mint] }, ...config,
      })
      .send();
    assert.equal(value.err, null);
    assert.equal(value.accounts[0].data.parsed.info.tokenAmount.amount, "77");
    assert.equal(value.accounts[1].data.parsed.info.supply, "77");
    assert.equal(value.innerInstructions[0].index, 0);
    assert.equal(value.innerInstructions[0].instructions[1].parsed.type, "createAccount");
    assert.equal(value.fee, 5_000n);
    assert.equal(value.preBalances.length, value.postBalances.length);
    assert.equal(value.postTokenBalances[0].uiTokenAmount.uiAmountString, "0.077");
    assert.equal(value.replacementBlockhash, null);
    assert.equal((await rpc.getAccountInfo(ata, { encoding: "base64", ...CONFIRMED }).send()).value, null);
    const estimate = estimateComputeUnitLimitFactory({ rpc });
    // It adds an instruction of the compute budget program.
    assert.equal(BigInt(await estimate(built)), value.unitsConsumed + 150n);
    await assert.rejects(
      rpc.simulateTransaction(wire, { sigVerify: true, replaceRecentBlockhash: true, ...config }).send(),
      /sigVerify may not be used with replaceRecentBlockhash/,
    );
  },

  async "a blockhash that nobody knows is a typed error"(context) {
    const [payer, to] = [await funded(context), await address()];
    const built = setTransactionMessageLifetimeUsingBlockhash(
      { blockhash: to, lastValidBlockHeight: 1_000_000n },
      await message(context, payer, [transfer(payer, to, 1_000_000n)]),
    );
    await assert.rejects(sendMessage(context, built), (error) => {
      assert.ok(isSolanaError(error, PREFLIGHT));
      assert.ok(isSolanaError(error.cause, BLOCKHASH_NOT_FOUND));
      assert.deepEqual(error.context.logs, []);
      return true;
    });
  },

  async "sysvars and accounts in bulk"(context) {
    const { rpc } = context;
    const clock = await sysvars.fetchSysvarClock(rpc);
    assert.ok(clock.slot > 0n && clock.unixTimestamp > 1_700_000_000n);
    assert.ok((await sysvars.fetchSysvarEpochSchedule(rpc)).slotsPerEpoch > 0n);
    assert.ok(await sysvars.fetchSysvarRent(rpc));
    for (const name of ["CLOCK", "EPOCH_SCHEDULE", "RENT", "SLOT_HASHES", "SLOT_HISTORY", "RECENT_BLOCKHASHES"]) {
      const account = await fetchJsonParsedAccount(rpc, sysvars[`SYSVAR_${name}_ADDRESS`]);
      assert.equal(account.data.parsedAccountMeta?.program, "sysvar", name);
    }
    const [payer, missing] = [await funded(context), await address()];
    const accounts = await fetchEncodedAccounts(rpc, [payer.address, missing], CONFIRMED);
    assert.deepEqual(accounts.map((it) => it.exists), [true, false]);
  },

  async "facts about the cluster"({ rpc }) {
    const identity = (await rpc.getIdentity().send()).identity;
    assert.equal(await rpc.getSlotLeader().send(), identity);
    const slot = await rpc.getSlot().send();
    assert.deepEqual(await rpc.getSlotLeaders(slot, 2).send(), [identity, identity]);
    const schedule = await rpc.getLeaderSchedule().send();
    assert.ok(schedule[identity].length > 0);
    assert.equal(await rpc.getHealth().send(), "ok");
    assert.equal(typeof (await rpc.getInflationGovernor().send()).terminal, "number");
    assert.equal(typeof (await rpc.getInflationRate().send()).total, "number");
    assert.ok((await rpc.getLargestAccounts().send()).value.length > 0);
    assert.equal(typeof (await rpc.getStakeMinimumDelegation().send()).value, "bigint");
    assert.ok((await rpc.getBlockProduction().send()).value.range.lastSlot >= 0n);
    assert.ok((await rpc.getBlockCommitment(slot).send()).totalStake >= 0n);
    await assert.rejects(rpc.getHighestSnapshotSlot().send(), /snapshot/i);
    assert.ok((await rpc.getTransactionCount().send()) > 0n);
    assert.ok((await rpc.minimumLedgerSlot().send()) >= 0n);
    const { value: latest } = await rpc.getLatestBlockhash().send();
    assert.equal((await rpc.isBlockhashValid(latest.blockhash).send()).value, true);
  },
};

const node = await startNode();
const rpc = createSolanaRpc(node.url);
const rpcSubscriptions = createSolanaRpcSubscriptions(node.ws);
const airdrop = airdropFactory({ rpc, rpcSubscriptions });
const sendAndConfirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions });
await run(cases, { rpc, rpcSubscriptions, airdrop, sendAndConfirm, ...node }, node.stop);
