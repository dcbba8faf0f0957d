"""solana-py and solders, installed from PyPI.

SELKIE is the program to test.
"""

import asyncio
import json
import os
import subprocess
import sys
import traceback

from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed, Finalized
from solana.rpc.models import MemcmpOpts, TokenAccountOpts, TxOpts
from solana.rpc.websocket_api import SolanaWsClient
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction, VersionedTransaction

SOL = 1_000_000_000


async def funded(client: AsyncClient, sol: int = 10) -> Keypair:
    key = Keypair()
    response = await client.request_airdrop(key.pubkey(), sol * SOL)
    await client.confirm_transaction(response.value, Confirmed)
    return key


def move(source: Keypair, to: Pubkey, lamports: int):
    return transfer(TransferParams(from_pubkey=source.pubkey(), to_pubkey=to, lamports=lamports))


async def sends_and_confirms(client: AsyncClient) -> None:
    source, to = await funded(client), Keypair().pubkey()
    blockhash = (await client.get_latest_blockhash()).value.blockhash
    message = MessageV0.try_compile(source.pubkey(), [move(source, to, 1_000_000)], [], blockhash)
    transaction = VersionedTransaction(message, [source])
    signature = (await client.send_transaction(transaction)).value
    await client.confirm_transaction(signature, Finalized)
    assert (await client.get_balance(to)).value == 1_000_000
    landed = (await client.get_transaction(signature, max_supported_transaction_version=0)).value
    assert landed.transaction.meta.fee == 5000
    statuses = (await client.get_signature_statuses([signature], search_transaction_history=True)).value
    assert statuses[0].err is None


async def sends_a_legacy_transaction(client: AsyncClient) -> None:
    source, to = await funded(client), Keypair().pubkey()
    blockhash = (await client.get_latest_blockhash()).value.blockhash
    message = Message.new_with_blockhash([move(source, to, 1_000_000)], source.pubkey(), blockhash)
    transaction = Transaction([source], message, blockhash)
    options = TxOpts(skip_preflight=True)
    signature = (await client.send_transaction(transaction, opts=options)).value
    await client.confirm_transaction(signature, Confirmed)
    assert (await client.get_balance(to, Confirmed)).value == 1_000_000
    history = (await client.get_signatures_for_address(to, limit=5)).value
    assert history[0].signature == signature
    fee = (await client.get_fee_for_message(message)).value
    assert fee == 5000


async def simulates(client: AsyncClient) -> None:
    source, to = await funded(client), Keypair().pubkey()
    message = MessageV0.try_compile(source.pubkey(), [move(source, to, 50 * SOL)], [], Hash.default())
    transaction = VersionedTransaction(message, [source])
    dead = (await client.simulate_transaction(transaction)).value
    assert "BlockhashNotFound" in str(dead.err)


async def reads_accounts_and_facts(client: AsyncClient) -> None:
    source = await funded(client)
    account = (await client.get_account_info(source.pubkey())).value
    assert account.lamports == 10 * SOL
    assert (await client.get_account_info(Keypair().pubkey())).value is None
    assert (await client.get_epoch_info()).value.slots_in_epoch > 0
    assert (await client.get_slot()).value > 0
    assert (await client.get_block_height()).value > 0
    assert (await client.get_version()).value.solana_core
    assert (await client.get_minimum_balance_for_rent_exemption(165)).value > 1_000_000
    assert await client.is_connected()
    token = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
    filters = [165, MemcmpOpts(offset=0, bytes=str(source.pubkey()))]
    assert (await client.get_program_accounts(token, filters=filters)).value == []
    options = TokenAccountOpts(program_id=token)
    assert (await client.get_token_accounts_by_owner(source.pubkey(), options)).value == []
    parsed = (await client.get_account_info_json_parsed(source.pubkey())).value
    assert parsed.lamports == 10 * SOL


async def subscribes(url: str, client: AsyncClient) -> None:
    source, to = await funded(client), Keypair().pubkey()
    async with SolanaWsClient(url) as websocket:
        subscription = await websocket.account_subscribe(pubkey=to, commitment=Confirmed)
        blockhash = (await client.get_latest_blockhash()).value.blockhash
        message = MessageV0.try_compile(source.pubkey(), [move(source, to, 1_000_000)], [], blockhash)
        await client.send_transaction(VersionedTransaction(message, [source]))
        notification = await asyncio.wait_for(websocket.recv(), 10)
        assert notification.result.value.lamports == 1_000_000
        await websocket.unsubscribe(subscription)


async def main(program: str) -> int:
    command = [program, "node", "--json", "--quiet", "--rpc-port", "0"]
    node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    failed = 0
    try:
        ready = json.loads(node.stdout.readline())
        async with AsyncClient(ready["rpcUrl"]) as client:
            tests = [sends_and_confirms, sends_a_legacy_transaction, simulates, reads_accounts_and_facts]
            for test in tests:
                failed += await check(test.__name__, test(client))
            failed += await check("subscribes", subscribes(ready["websocketUrl"], client))
    finally:
        node.terminate()
        node.wait(5)
    return failed


async def check(name: str, test) -> int:
    try:
        await asyncio.wait_for(test, 30)
        print(f"ok     {name}")
        return 0
    except Exception as error:  # noqa: BLE001
        print(f"FAILED {name}: {error!r}")
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(os.environ["SELKIE"])))
