"""anchorpy with the Anchor program examples/anchor/tally, and a transfer with the solana-py that it brings.

SELKIE is the program to test, TALLY the folder with deploy/tally.so and idl/tally.json.
"""

import asyncio
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

from anchorpy import Context, Idl, Program, Provider, Wallet
from anchorpy.error import AccountDoesNotExistError, ProgramError
from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed
from solana.rpc.core import RPCException
from solana.rpc.types import MemcmpOpts, TxOpts
from solana.rpc.websocket_api import connect
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import ID as SYSTEM
from solders.system_program import TransferParams, transfer
from solders.message import MessageV0
from solders.transaction import VersionedTransaction

SOL = 1_000_000_000
TYPES = {"pubkey": "publicKey"}


def camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(it.capitalize() for it in tail)


def before_anchor_0_30(idl: dict) -> Idl:
    """anchorpy reads interfaces as Anchor wrote them before 0.30."""

    def fields(of: list) -> list:
        return [{"name": camel(it["name"]), "type": TYPES.get(it["type"], it["type"])} for it in of]

    def account(it: dict) -> dict:
        flags = {"isMut": it.get("writable", False), "isSigner": it.get("signer", False)}
        return {"name": camel(it["name"]), **flags}

    types = {it["name"]: it["type"] for it in idl["types"]}
    old = {
        "version": idl["metadata"]["version"],
        "name": idl["metadata"]["name"],
        "instructions": [
            {
                "name": camel(it["name"]),
                "accounts": [account(each) for each in it["accounts"]],
                "args": fields(it["args"]),
            }
            for it in idl["instructions"]
        ],
        "accounts": [
            {
                "name": it["name"],
                "type": {"kind": "struct", "fields": fields(types[it["name"]]["fields"])},
            }
            for it in idl["accounts"]
        ],
        "errors": idl["errors"],
    }
    return Idl.from_json(json.dumps(old))


async def opened(program: Program) -> Pubkey:
    tally, owner = Keypair(), program.provider.wallet.public_key
    accounts = {"tally": tally.pubkey(), "owner": owner, "system_program": SYSTEM}
    await program.rpc["open"](ctx=Context(accounts=accounts, signers=[tally]))
    return tally.pubkey()


def adding(program: Program, tally: Pubkey) -> Context:
    return Context(accounts={"tally": tally, "owner": program.provider.wallet.public_key})


async def opens_adds_and_reads(program: Program) -> None:
    tally = await opened(program)
    await program.rpc["add"](41, ctx=adding(program, tally))
    signature = await program.rpc["add"](1, ctx=adding(program, tally))
    account = await program.account["Tally"].fetch(tally)
    assert account.count == 42
    assert account.owner == program.provider.wallet.public_key
    landed = (await program.provider.connection.get_transaction(signature, commitment=Confirmed)).value
    assert any("Instruction: Add" in line for line in landed.transaction.meta.log_messages)


async def finds_accounts(program: Program) -> None:
    tally = await opened(program)
    owner = program.provider.wallet.public_key
    found = await program.account["Tally"].all(filters=[MemcmpOpts(offset=8, bytes=str(owner))])
    assert tally in [it.public_key for it in found]
    many = await program.account["Tally"].fetch_multiple([tally, owner])
    assert many[0].count == 0 and many[1] is None
    try:
        await program.account["Tally"].fetch(Keypair().pubkey())
    except AccountDoesNotExistError:
        return
    raise AssertionError("an account that does not exist was read")


async def simulates(program: Program) -> None:
    tally = await opened(program)
    simulated = await program.simulate["add"](7, ctx=adding(program, tally))
    assert any("Instruction: Add" in line for line in simulated.raw)
    assert (await program.account["Tally"].fetch(tally)).count == 0


async def names_errors_of_the_program(program: Program) -> None:
    tally = await opened(program)
    await program.rpc["add"](1, ctx=adding(program, tally))
    try:
        await program.rpc["add"](2**64 - 1, ctx=adding(program, tally))
    except ProgramError as error:
        assert (error.code, error.msg) == (6000, "the count does not fit into 64 bits"), error
        return
    raise AssertionError("an overflow was accepted")


async def names_errors_of_anchor(program: Program) -> None:
    tally, other = await opened(program), Keypair()
    context = Context(accounts={"tally": tally, "owner": other.pubkey()}, signers=[other])
    try:
        await program.rpc["add"](1, ctx=context)
    except ProgramError as error:
        assert error.code == 2001, error
        return
    raise AssertionError("another owner was accepted")


async def transfers_and_explains_a_failure(program: Program) -> None:
    client, payer = program.provider.connection, program.provider.wallet.payer
    to = Keypair().pubkey()

    async def send(lamports: int) -> None:
        blockhash = (await client.get_latest_blockhash(Confirmed)).value.blockhash
        move = transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports))
        message = MessageV0.try_compile(payer.pubkey(), [move], [], blockhash)
        sent = await client.send_transaction(VersionedTransaction(message, [payer]))
        await client.confirm_transaction(sent.value, Confirmed)

    await send(SOL)
    assert (await client.get_balance(to, Confirmed)).value == SOL
    try:
        await send(10_000 * SOL)
    except RPCException as error:
        assert "insufficient lamports" in str(error), error
        return
    raise AssertionError("more than the balance was sent")


async def sees_changes(program: Program, url: str) -> None:
    tally = await opened(program)
    async with connect(url) as websocket:
        await websocket.account_subscribe(tally, commitment=Confirmed, encoding="base64")
        await websocket.recv()
        await program.rpc["add"](9, ctx=adding(program, tally))
        [notification] = await asyncio.wait_for(websocket.recv(), 10)
        data = notification.result.value.data
        assert program.coder.accounts.decode(data).count == 9


TESTS = [
    opens_adds_and_reads,
    finds_accounts,
    simulates,
    names_errors_of_the_program,
    names_errors_of_anchor,
    transfers_and_explains_a_failure,
]


async def main(selkie: str, folder: Path) -> int:
    idl = json.loads((folder / "idl/tally.json").read_text())
    deployed = ["--bpf-program", idl["address"], str(folder / "deploy/tally.so")]
    command = [selkie, "node", "--json", "--quiet", "--rpc-port", "0", *deployed]
    node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    failed = 0
    try:
        ready = json.loads(node.stdout.readline())
        async with AsyncClient(ready["rpcUrl"], Confirmed) as client:
            payer = Keypair()
            sent = await client.request_airdrop(payer.pubkey(), 100 * SOL)
            await client.confirm_transaction(sent.value, Confirmed)
            options = TxOpts(preflight_commitment=Confirmed)
            provider = Provider(client, Wallet(payer), options)
            address = Pubkey.from_string(idl["address"])
            program = Program(before_anchor_0_30(idl), address, provider)
            for test in TESTS:
                failed += await check(test.__name__, test(program))
            failed += await check("sees_changes", sees_changes(program, ready["websocketUrl"]))
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
    sys.exit(asyncio.run(main(os.environ["SELKIE"], Path(os.environ["TALLY"]))))
