// @solana/web3.js 1.x and @solana/spl-token.

import assert from "node:assert/strict";
import {
  AddressLookupTableProgram,
  ComputeBudgetProgram,
  Connection,
  Keypair,
  LAMPORTS_PER_SOL,
  NONCE_ACCOUNT_LENGTH,
  NonceAccount,
  PublicKey,
  SystemProgram,
  Transaction,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
  sendAndConfirmTransaction,
} from "@solana/web3.js";
import * as token from "@solana/spl-token";
import { rpc, run, startNode, subscribed } from "./lib.mjs";

const MEMO = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

async function funded(connection, sol = 10) {
  const key = Keypair.generate();
  const signature = await connection.requestAirdrop(key.publicKey, sol * LAMPORTS_PER_SOL);
  const latest = await connection.getLatestBlockhash();
  const { value } = await connection.confirmTransaction({ signature, ...latest });
  assert.equal(value.err, null);
  return key;
}

function transfer(from, to, lamports) {
  return SystemProgram.transfer({ fromPubkey: from, toPubkey: to, lamports });
}

function next(subscribe) {
  return new Promise((resolve) => subscribe(resolve));
}

const cases = {
  async "airdrop with confirmation over WebSocket"({ connection }) {
    const key = await funded(connection, 3);
    assert.equal(await connection.getBalance(key.publicKey), 3 * LAMPORTS_PER_SOL);
  },

  async "legacy transfer"({ connection }) {
    const [from, to] = [await funded(connection), Keypair.generate().publicKey];
    const transaction = new Transaction().add(transfer(from.publicKey, to, 1_000_000));
    const signature = await sendAndConfirmTransaction(connection, transaction, [from]);
    assert.equal(await connection.getBalance(to), 1_000_000);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    assert.equal(found.meta.fee, 5000);
    assert.equal(found.version, "legacy");
    const parsed = await connection.getParsedTransaction(signature);
    assert.equal(parsed.transaction.message.instructions[0].parsed.type, "transfer");
    const statuses = await connection.getSignatureStatuses([signature]);
    assert.equal(statuses.value[0].confirmationStatus, "finalized");
  },

  async "a hundred transfers in parallel"({ connection }) {
    const from = await funded(connection, 100);
    const to = Array.from({ length: 100 }, () => Keypair.generate().publicKey);
    await Promise.all(
      to.map((key, index) =>
        sendAndConfirmTransaction(
          connection,
          new Transaction().add(transfer(from.publicKey, key, 1_000_000 + index)),
          [from],
        ),
      ),
    );
    const accounts = await connection.getMultipleAccountsInfo(to);
    accounts.forEach((account, index) => assert.equal(account.lamports, 1_000_000 + index));
  },

  async "versioned transaction with a lookup table"({ connection }) {
    const from = await funded(connection);
    const to = Keypair.generate().publicKey;
    const slot = (await connection.getSlot("finalized")) - 1;
    const [create, table] = AddressLookupTableProgram.createLookupTable({
      authority: from.publicKey,
      payer: from.publicKey,
      recentSlot: slot,
    });
    const extend = AddressLookupTableProgram.extendLookupTable({
      payer: from.publicKey,
      authority: from.publicKey,
      lookupTable: table,
      addresses: [to, SystemProgram.programId],
    });
    await sendAndConfirmTransaction(connection, new Transaction().add(create, extend), [from]);
    const found = await connection.getAddressLookupTable(table);
    assert.equal(found.value.state.addresses.length, 2);
    const latest = await connection.getLatestBlockhash();
    const message = new TransactionMessage({
      payerKey: from.publicKey,
      recentBlockhash: latest.blockhash,
      instructions: [transfer(from.publicKey, to, 2_000_000)],
    }).compileToV0Message([found.value]);
    assert.equal(message.addressTableLookups.length, 1);
    const transaction = new VersionedTransaction(message);
    transaction.sign([from]);
    const signature = await connection.sendTransaction(transaction);
    const { value } = await connection.confirmTransaction({ signature, ...latest });
    assert.equal(value.err, null);
    assert.equal(await connection.getBalance(to), 2_000_000);
    const landed = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    assert.equal(landed.version, 0);
    assert.deepEqual(
      landed.meta.loadedAddresses.writable.map(String),
      [String(to)],
    );
    await assert.rejects(connection.getTransaction(signature), /maxSupportedTransactionVersion/);
  },

  async "durable nonce"({ connection }) {
    const from = await funded(connection);
    const nonce = Keypair.generate();
    const to = Keypair.generate().publicKey;
    const rent = await connection.getMinimumBalanceForRentExemption(NONCE_ACCOUNT_LENGTH);
    const create = new Transaction().add(
      SystemProgram.createNonceAccount({
        fromPubkey: from.publicKey,
        noncePubkey: nonce.publicKey,
        authorizedPubkey: from.publicKey,
        lamports: rent,
      }),
    );
    await sendAndConfirmTransaction(connection, create, [from, nonce]);
    const account = await connection.getAccountInfo(nonce.publicKey);
    const state = NonceAccount.fromAccountData(account.data);
    const transaction = new Transaction({
      feePayer: from.publicKey,
      nonceInfo: {
        nonce: state.nonce,
        nonceInstruction: SystemProgram.nonceAdvance({
          noncePubkey: nonce.publicKey,
          authorizedPubkey: from.publicKey,
        }),
      },
    }).add(transfer(from.publicKey, to, 1_500_000));
    await sendAndConfirmTransaction(connection, transaction, [from], {
      minNonceContextSlot: await connection.getSlot(),
    });
    assert.equal(await connection.getBalance(to), 1_500_000);
    const after = await connection.getParsedAccountInfo(nonce.publicKey);
    assert.equal(after.value.data.parsed.type, "initialized");
    assert.notEqual(after.value.data.parsed.info.blockhash, state.nonce);
  },

  async "token life cycle with Token"({ connection }) {
    await tokenLifeCycle(connection, token.TOKEN_PROGRAM_ID, "spl-token");
  },

  async "token life cycle with Token-2022"({ connection }) {
    await tokenLifeCycle(connection, token.TOKEN_2022_PROGRAM_ID, "spl-token-2022");
  },

  async "extensions of Token-2022"({ connection }) {
    const payer = await funded(connection);
    const mint = Keypair.generate();
    const program = token.TOKEN_2022_PROGRAM_ID;
    const extensions = [token.ExtensionType.TransferFeeConfig, token.ExtensionType.MintCloseAuthority];
    const length = token.getMintLen(extensions);
    const lamports = await connection.getMinimumBalanceForRentExemption(length);
    const transaction = new Transaction().add(
      SystemProgram.createAccount({
        fromPubkey: payer.publicKey,
        newAccountPubkey: mint.publicKey,
        space: length,
        lamports,
        programId: program,
      }),
      token.createInitializeTransferFeeConfigInstruction(
        mint.publicKey, payer.publicKey, payer.publicKey, 50, 5_000n, program,
      ),
      token.createInitializeMintCloseAuthorityInstruction(mint.publicKey, payer.publicKey, program),
      token.createInitializeMintInstruction(mint.publicKey, 9, payer.publicKey, null, program),
    );
    const signature = await sendAndConfirmTransaction(connection, transaction, [payer, mint]);
    const { value } = await connection.getParsedAccountInfo(mint.publicKey);
    const names = value.data.parsed.info.extensions.map((it) => it.extension).sort();
    assert.deepEqual(names, ["mintCloseAuthority", "transferFeeConfig"]);
    const fee = value.data.parsed.info.extensions.find((it) => it.extension === "transferFeeConfig");
    assert.equal(fee.state.newerTransferFee.transferFeeBasisPoints, 50);
    const parsed = await connection.getParsedTransaction(signature, "confirmed");
    assert.deepEqual(
      parsed.transaction.message.instructions.map((it) => it.parsed.type),
      ["createAccount", "initializeTransferFeeConfig", "initializeMintCloseAuthority", "initializeMint"],
    );
  },

  async "simulation"({ connection }) {
    const from = await funded(connection);
    const to = Keypair.generate().publicKey;
    const message = new TransactionMessage({
      payerKey: from.publicKey,
      recentBlockhash: PublicKey.default.toBase58(),
      instructions: [
        ComputeBudgetProgram.setComputeUnitLimit({ units: 10_000 }),
        transfer(from.publicKey, to, 1_000_000),
      ],
    }).compileToV0Message();
    const transaction = new VersionedTransaction(message);
    const { value } = await connection.simulateTransaction(transaction, {
      replaceRecentBlockhash: true,
      sigVerify: false,
      accounts: { encoding: "base64", addresses: [to.toBase58()] },
    });
    assert.equal(value.err, null);
    assert.equal(value.unitsConsumed, 300);
    assert.equal(value.accounts[0].lamports, 1_000_000);
    assert.ok(value.replacementBlockhash.blockhash);
    const dead = await connection.simulateTransaction(transaction, { sigVerify: false });
    assert.equal(dead.value.err, "BlockhashNotFound");
  },

  async "a failed preflight explains itself"({ connection }) {
    const from = await funded(connection, 1);
    const transaction = new Transaction().add(
      transfer(from.publicKey, Keypair.generate().publicKey, 2 * LAMPORTS_PER_SOL),
    );
    await assert.rejects(sendAndConfirmTransaction(connection, transaction, [from]), (error) => {
      assert.match(error.message, /Simulation failed.*custom program error: 0x1/s);
      assert.ok(error.logs.some((line) => line.includes("insufficient lamports")));
      return true;
    });
  },

  async "a failed transaction lands without preflight"({ connection }) {
    const from = await funded(connection, 1);
    const transaction = new Transaction().add(
      transfer(from.publicKey, Keypair.generate().publicKey, 2 * LAMPORTS_PER_SOL),
    );
    const signature = await connection.sendTransaction(transaction, [from], { skipPreflight: true });
    const latest = await connection.getLatestBlockhash();
    const { value } = await connection.confirmTransaction({ signature, ...latest });
    assert.deepEqual(value.err, { InstructionError: [0, { Custom: 1 }] });
  },

  async "history pages"({ connection }) {
    const from = await funded(connection);
    const to = Keypair.generate().publicKey;
    const sent = [];
    for (let index = 0; index < 5; index += 1) {
      const transaction = new Transaction().add(
        transfer(from.publicKey, to, 1_000_000 + index),
        new TransactionInstruction({ programId: MEMO, keys: [], data: Buffer.from(`n${index}`) }),
      );
      sent.unshift(await sendAndConfirmTransaction(connection, transaction, [from]));
    }
    const names = async (options) =>
      (await connection.getSignaturesForAddress(to, options)).map((it) => it.signature);
    assert.deepEqual(await names({}), sent);
    assert.deepEqual(await names({ limit: 2 }), sent.slice(0, 2));
    assert.deepEqual(await names({ before: sent[1] }), sent.slice(2));
    assert.deepEqual(await names({ until: sent[3] }), sent.slice(0, 3));
    const [newest] = await connection.getSignaturesForAddress(to, { limit: 1 });
    assert.equal(newest.memo, "[2] n4");
    const block = await connection.getBlock(newest.slot, { maxSupportedTransactionVersion: 0 });
    assert.ok(block.transactions.some((it) => it.transaction.signatures[0] === newest.signature));
    assert.equal(await connection.getBlockTime(newest.slot), block.blockTime);
    assert.ok((await connection.getBlocks(newest.slot, newest.slot)).includes(newest.slot));
  },

  async "subscriptions of every kind"({ connection }) {
    const from = await funded(connection);
    const to = Keypair.generate().publicKey;
    const ids = {};
    const account = next((it) => { ids.account = connection.onAccountChange(to, it, "processed"); });
    const logs = next((it) => { ids.logs = connection.onLogs(to, it, "confirmed"); });
    const program = next((it) => {
      ids.program = connection.onProgramAccountChange(SystemProgram.programId, (change) => {
        if (change.accountId.equals(to)) it(change);
      });
    });
    const slot = next((it) => { ids.slot = connection.onSlotChange(it); });
    const root = next((it) => { ids.root = connection.onRootChange(it); });
    const update = next((it) => { ids.update = connection.onSlotUpdate(it); });
    await subscribed(connection);
    const transaction = new Transaction().add(transfer(from.publicKey, to, 1_000_000));
    const signature = await sendAndConfirmTransaction(connection, transaction, [from]);
    assert.equal((await account).lamports, 1_000_000);
    assert.equal((await logs).signature, signature);
    assert.equal((await program).accountInfo.lamports, 1_000_000);
    assert.ok((await slot).slot > 0);
    assert.ok((await root) > 0);
    assert.ok((await update).type);
    await connection.removeAccountChangeListener(ids.account);
    await connection.removeOnLogsListener(ids.logs);
    await connection.removeProgramAccountChangeListener(ids.program);
    await connection.removeSlotChangeListener(ids.slot);
    await connection.removeRootChangeListener(ids.root);
    await connection.removeSlotUpdateListener(ids.update);
  },

  async "cluster facts"({ connection }) {
    assert.equal(typeof (await connection.getVersion())["feature-set"], "number");
    assert.ok((await connection.getGenesisHash()).length > 30);
    assert.ok((await connection.getEpochInfo()).slotsInEpoch > 0);
    assert.equal((await connection.getClusterNodes()).length, 1);
    assert.ok((await connection.getSupply()).value.total > 0);
    const validators = await connection.getVoteAccounts();
    assert.deepEqual(validators.delinquent, []);
    assert.equal(validators.current.length, 1);
    assert.ok(await connection.getAccountInfo(new PublicKey(validators.current[0].votePubkey)));
    assert.ok(Array.isArray(await connection.getRecentPrioritizationFees()));
    assert.ok((await connection.getRecentPerformanceSamples(1)).length <= 1);
    assert.ok((await connection.getSlotLeader()).length > 30);
    assert.ok((await connection.getFirstAvailableBlock()) >= 0);
  },

  async "cheatcodes"({ connection, url }) {
    const key = Keypair.generate().publicKey;
    const edit = { lamports: 5_000_000, data: "0a0b", owner: MEMO.toBase58() };
    assert.equal((await rpc(url, "surfnet_setAccount", [key.toBase58(), edit])).error, undefined);
    const account = await connection.getAccountInfo(key);
    assert.deepEqual([account.lamports, [...account.data]], [5_000_000, [10, 11]]);
    const snapshot = (await rpc(url, "selkie_snapshot", [])).result;
    await rpc(url, "selkie_setBalance", [key.toBase58(), 7]);
    assert.equal(await connection.getBalance(key), 7);
    await rpc(url, "selkie_revert", [snapshot]);
    assert.equal(await connection.getBalance(key), 5_000_000);
    const time = Math.floor(Date.now() / 1000) + 86_400;
    const travelled = await rpc(url, "surfnet_timeTravel", [{ absoluteTimestamp: time * 1000 }]);
    assert.ok(travelled.result.absoluteSlot > 0);
    const blockTime = await connection.getBlockTime(await connection.getSlot());
    assert.ok(blockTime >= time, `${blockTime} < ${time}`);
  },
};

async function tokenLifeCycle(connection, program, name) {
  const payer = await funded(connection);
  const other = Keypair.generate();
  const mint = await token.createMint(
    connection, payer, payer.publicKey, payer.publicKey, 6, undefined, undefined, program,
  );
  const create = (owner) =>
    token.getOrCreateAssociatedTokenAccount(
      connection, payer, mint, owner, false, undefined, undefined, program,
    );
  const [one, two] = [await create(payer.publicKey), await create(other.publicKey)];
  await token.mintTo(connection, payer, mint, one.address, payer, 1_000_000n, [], undefined, program);
  const signature = await token.transferChecked(
    connection, payer, one.address, mint, two.address, payer, 250_000n, 6, [], undefined, program,
  );
  const parsed = await connection.getParsedTransaction(signature, "confirmed");
  const [instruction] = parsed.transaction.message.instructions;
  assert.equal(instruction.parsed.type, "transferChecked");
  assert.equal(instruction.parsed.info.tokenAmount.uiAmountString, "0.25");
  assert.equal(parsed.meta.postTokenBalances.length, 2);
  const balance = await connection.getTokenAccountBalance(two.address);
  assert.equal(balance.value.uiAmountString, "0.25");
  assert.equal((await connection.getTokenSupply(mint)).value.amount, "1000000");
  const largest = await connection.getTokenLargestAccounts(mint);
  assert.deepEqual(largest.value.map((it) => it.amount), ["750000", "250000"]);
  const owned = await connection.getParsedTokenAccountsByOwner(other.publicKey, { programId: program });
  assert.equal(owned.value.length, 1);
  assert.equal(owned.value[0].account.data.program, name);
  const byMint = await connection.getTokenAccountsByOwner(other.publicKey, { mint });
  assert.equal(byMint.value.length, 1);
  await token.approve(connection, payer, one.address, other.publicKey, payer, 5n, [], undefined, program);
  await token.burn(connection, payer, one.address, mint, payer, 750_000n, [], undefined, program);
  await token.closeAccount(
    connection, payer, one.address, payer.publicKey, payer, [], undefined, program,
  );
  assert.equal(await connection.getAccountInfo(one.address), null);
  const filtered = await connection.getProgramAccounts(program, {
    filters: [{ memcmp: { offset: 0, bytes: mint.toBase58() } }],
  });
  assert.equal(filtered.length, 1);
}

const node = await startNode();
const connection = new Connection(node.url, "confirmed");
await run(cases, { connection, ...node }, node.stop);
