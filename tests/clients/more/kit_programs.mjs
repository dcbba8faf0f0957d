// The program clients of @solana-program on @solana/kit: system, token, associated token, memo, compute budget
// and stake, with what kit knows of errors.

import assert from "node:assert/strict";
import {
  airdropFactory,
  appendTransactionMessageInstructions,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  generateKeyPairSigner,
  getSignatureFromTransaction,
  isProgramError,
  isSolanaError,
  lamports,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE as PREFLIGHT,
} from "@solana/kit";
import * as budget from "@solana-program/compute-budget";
import * as memo from "@solana-program/memo";
import * as stake from "@solana-program/stake";
import * as system from "@solana-program/system";
import * as token from "@solana-program/token";
import { run, startNode } from "../lib.mjs";

const CONFIRMED = { commitment: "confirmed" };

async function funded({ airdrop }) {
  const signer = await generateKeyPairSigner();
  await airdrop({ recipientAddress: signer.address, lamports: lamports(10_000_000_000n), ...CONFIRMED });
  return signer;
}

async function message({ rpc }, payer, instructions) {
  const { value: latest } = await rpc.getLatestBlockhash(CONFIRMED).send();
  return pipe(
    createTransactionMessage({ version: 0 }),
    (it) => setTransactionMessageFeePayerSigner(payer, it),
    (it) => setTransactionMessageLifetimeUsingBlockhash(latest, it),
    (it) => appendTransactionMessageInstructions(instructions, it),
  );
}

async function send(context, payer, instructions) {
  const built = await message(context, payer, instructions);
  const transaction = await signTransactionMessageWithSigners(built);
  await context.sendAndConfirm(transaction, CONFIRMED);
  return getSignatureFromTransaction(transaction);
}

async function newMint(context, payer) {
  const mint = await generateKeyPairSigner();
  const space = token.getMintSize();
  const rent = await context.rpc.getMinimumBalanceForRentExemption(BigInt(space)).send();
  await send(context, payer, [
    system.getCreateAccountInstruction({
      payer, newAccount: mint, lamports: rent, space, programAddress: token.TOKEN_PROGRAM_ADDRESS,
    }),
    token.getInitializeMint2Instruction({
      mint: mint.address, decimals: 2, mintAuthority: payer.address, freezeAuthority: payer.address,
    }),
  ]);
  return mint.address;
}

async function newAccount(context, payer, mint, owner) {
  const create = await token.getCreateAssociatedTokenInstructionAsync({ payer, mint, owner });
  await send(context, payer, [create]);
  const seeds = { owner, mint, tokenProgram: token.TOKEN_PROGRAM_ADDRESS };
  return (await token.findAssociatedTokenPda(seeds))[0];
}

/** Expects a failed preflight, whose cause is an error with a code of a program. */
async function refused(context, payer, instructions, program, code) {
  const built = await message(context, payer, instructions);
  const transaction = await signTransactionMessageWithSigners(built);
  await assert.rejects(context.sendAndConfirm(transaction, CONFIRMED), (error) => {
    assert.ok(isSolanaError(error, PREFLIGHT), String(error));
    assert.ok(isProgramError(error.cause, built, program, code), String(error.cause));
    return true;
  });
}

const cases = {
  async "system: accounts with seeds, allocation and assignment"(context) {
    const payer = await funded(context);
    const account = await generateKeyPairSigner();
    const rent = await context.rpc.getMinimumBalanceForRentExemption(10n).send();
    await send(context, payer, [
      system.getTransferSolInstruction({ source: payer, destination: account.address, amount: rent }),
      system.getAllocateInstruction({ newAccount: account, space: 10 }),
      system.getAssignInstruction({ account, programAddress: memo.MEMO_PROGRAM_ADDRESS }),
    ]);
    const { value } = await context.rpc.getAccountInfo(account.address, { ...CONFIRMED, encoding: "base64" }).send();
    assert.equal(value.owner, memo.MEMO_PROGRAM_ADDRESS);
    assert.equal(value.space, 10n);
  },

  async "system: a nonce account"(context) {
    const payer = await funded(context);
    const nonce = await generateKeyPairSigner();
    const space = system.getNonceSize();
    const rent = await context.rpc.getMinimumBalanceForRentExemption(BigInt(space)).send();
    await send(context, payer, [
      system.getCreateAccountInstruction({
        payer, newAccount: nonce, lamports: rent, space, programAddress: system.SYSTEM_PROGRAM_ADDRESS,
      }),
      system.getInitializeNonceAccountInstruction({ nonceAccount: nonce.address, nonceAuthority: payer.address }),
    ]);
    const first = await system.fetchNonce(context.rpc, nonce.address, CONFIRMED);
    assert.equal(first.data.authority, payer.address);
    assert.equal(first.data.lamportsPerSignature, 5000n);
    await send(context, payer, [
      system.getAdvanceNonceAccountInstruction({ nonceAccount: nonce.address, nonceAuthority: payer }),
    ]);
    const second = await system.fetchNonce(context.rpc, nonce.address, CONFIRMED);
    assert.notEqual(second.data.blockhash, first.data.blockhash);
  },

  async "system: an error"(context) {
    const payer = await funded(context);
    const to = (await generateKeyPairSigner()).address;
    const amount = 100_000_000_000n;
    await refused(
      context, payer, [system.getTransferSolInstruction({ source: payer, destination: to, amount })],
      system.SYSTEM_PROGRAM_ADDRESS, system.SYSTEM_ERROR__RESULT_WITH_NEGATIVE_LAMPORTS,
    );
  },

  async "token: mint, transfer, delegate, freeze, burn, close"(context) {
    const payer = await funded(context);
    const [delegate, other] = [await generateKeyPairSigner(), await generateKeyPairSigner()];
    const mint = await newMint(context, payer);
    const source = await newAccount(context, payer, mint, payer.address);
    const destination = await newAccount(context, payer, mint, other.address);
    await send(context, payer, [
      token.getMintToCheckedInstruction({ mint, token: source, mintAuthority: payer, amount: 1000n, decimals: 2 }),
      token.getTransferCheckedInstruction({
        source, mint, destination, authority: payer, amount: 300n, decimals: 2,
      }),
      token.getApproveInstruction({ source, delegate: delegate.address, owner: payer, amount: 50n }),
    ]);
    await send(context, payer, [
      token.getTransferInstruction({ source, destination, authority: delegate, amount: 20n }),
      token.getFreezeAccountInstruction({ account: destination, mint, owner: payer }),
    ]);
    const found = await token.fetchToken(context.rpc, source, CONFIRMED);
    assert.equal(found.data.amount, 680n);
    assert.equal(found.data.delegatedAmount, 30n);
    const frozen = await token.fetchToken(context.rpc, destination, CONFIRMED);
    assert.equal(frozen.data.state, token.AccountState.Frozen);
    const thaw = token.getTransferInstruction({ source, destination, authority: payer, amount: 1n });
    await refused(
      context, payer, [thaw], token.TOKEN_PROGRAM_ADDRESS, token.TOKEN_ERROR__ACCOUNT_FROZEN,
    );
    await send(context, payer, [
      token.getBurnInstruction({ account: source, mint, authority: payer, amount: 680n }),
      token.getCloseAccountInstruction({ account: source, destination: payer.address, owner: payer }),
    ]);
    assert.equal((await token.fetchMaybeToken(context.rpc, source, CONFIRMED)).exists, false);
    assert.equal((await token.fetchMint(context.rpc, mint, CONFIRMED)).data.supply, 320n);
  },

  async "memo, signed"(context) {
    const payer = await funded(context);
    const signer = await generateKeyPairSigner();
    const signature = await send(context, payer, [
      memo.getAddMemoInstruction({ memo: "signed", signers: [signer] }),
    ]);
    const [newest] = await context.rpc.getSignaturesForAddress(signer.address, CONFIRMED).send();
    assert.equal(newest.signature, signature);
    assert.equal(newest.memo, "[6] signed");
  },

  async "compute budget: estimate, limit and price"(context) {
    const payer = await funded(context);
    const to = (await generateKeyPairSigner()).address;
    const transfer = system.getTransferSolInstruction({ source: payer, destination: to, amount: 1_000_000n });
    const estimate = budget.estimateComputeUnitLimitFactory({ rpc: context.rpc });
    const units = await estimate(await message(context, payer, [transfer]));
    assert.equal(units, 300);
    const signature = await send(context, payer, [
      budget.getSetComputeUnitLimitInstruction({ units: 1000 }),
      budget.getSetComputeUnitPriceInstruction({ microLamports: 7_000_000n }),
      budget.getSetLoadedAccountsDataSizeLimitInstruction({ accountDataSizeLimit: 65_536 }),
      transfer,
    ]);
    const { meta } = await context.rpc
      .getTransaction(signature, { ...CONFIRMED, encoding: "json", maxSupportedTransactionVersion: 0 })
      .send();
    assert.equal(meta.fee, 12_000n);
    assert.equal(meta.computeUnitsConsumed, 600n);
  },

  async "stake: create, delegate, deactivate"(context) {
    const payer = await funded(context);
    const account = await generateKeyPairSigner();
    const { current } = await context.rpc.getVoteAccounts(CONFIRMED).send();
    const vote = current[0].votePubkey;
    const space = 200;
    const rent = await context.rpc.getMinimumBalanceForRentExemption(BigInt(space)).send();
    await send(context, payer, [
      system.getCreateAccountInstruction({
        payer, newAccount: account, lamports: rent + 2_000_000_000n, space,
        programAddress: stake.STAKE_PROGRAM_ADDRESS,
      }),
      stake.getInitializeInstruction({
        stake: account.address,
        arg0: { staker: payer.address, withdrawer: payer.address },
        arg1: { unixTimestamp: 0n, epoch: 0n, custodian: system.SYSTEM_PROGRAM_ADDRESS },
      }),
    ]);
    await send(context, payer, [
      stake.getDelegateStakeInstruction({ stake: account.address, vote, stakeAuthority: payer }),
    ]);
    const { data } = await stake.fetchStakeStateAccount(context.rpc, account.address, CONFIRMED);
    assert.equal(data.state.__kind, "Stake");
    const [{ delegation }] = data.state.fields.slice(1);
    assert.equal(delegation.voterPubkey, vote);
    assert.equal(delegation.stake, 2_000_000_000n);
    await send(context, payer, [
      stake.getDeactivateInstruction({ stake: account.address, stakeAuthority: payer }),
    ]);
  },
};

const node = await startNode();
const rpc = createSolanaRpc(node.url);
const rpcSubscriptions = createSolanaRpcSubscriptions(node.ws);
const airdrop = airdropFactory({ rpc, rpcSubscriptions });
const sendAndConfirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions });
await run(cases, { rpc, rpcSubscriptions, airdrop, sendAndConfirm, ...node }, node.stop);
