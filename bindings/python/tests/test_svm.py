"""`selkie.Svm`: types, failures, threads, forks, engines."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from solders.account import Account
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from solders.transaction_status import TransactionErrorInstructionError

import selkie

SOL = 10**9


def signed(svm: selkie.Svm, payer: Keypair, to: Pubkey, lamports: int) -> VersionedTransaction:
    instruction = transfer(
        TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports)
    )
    blockhash: Hash = svm.latest_blockhash()
    message = MessageV0.try_compile(payer.pubkey(), [instruction], [], blockhash)
    return VersionedTransaction(message, [payer])


def funded() -> tuple[selkie.Svm, Keypair]:
    svm, payer = selkie.Svm(), Keypair()
    svm.airdrop(payer.pubkey(), 10 * SOL)
    return svm, payer


def test_types_are_those_of_solders() -> None:
    svm, payer = funded()
    bob = Pubkey.new_unique()
    assert svm.get_account(bob) is None
    assert svm.get_balance(bob) is None
    result = svm.send_transaction(signed(svm, payer, bob, SOL))
    assert isinstance(result, selkie.TransactionMetadata)
    assert svm.get_account(bob) == Account(SOL, b"", Pubkey.default(), False, 2**64 - 1)
    remembered = svm.get_transaction(result.signature())
    assert isinstance(remembered, selkie.TransactionMetadata)
    assert remembered.logs() == result.logs()
    assert isinstance(svm.latest_blockhash(), Hash)


def test_a_failure_is_a_result_that_explains_itself() -> None:
    svm, payer = funded()
    failed = svm.send_transaction(signed(svm, payer, Pubkey.new_unique(), 11 * SOL))
    assert isinstance(failed, selkie.FailedTransactionMetadata)
    assert isinstance(failed.err(), TransactionErrorInstructionError)
    assert failed.error == {"InstructionError": [0, {"Custom": 1}]}
    assert not failed.is_dropped
    assert "insufficient lamports" in str(failed)


def test_a_simulation_changes_nothing() -> None:
    svm, payer = funded()
    bob = Pubkey.new_unique()
    info = svm.simulate_transaction(signed(svm, payer, bob, SOL))
    assert isinstance(info, selkie.SimulatedTransactionInfo)
    assert dict(info.post_accounts())[bob].lamports == SOL
    assert svm.get_balance(bob) is None


def test_copies_are_independent() -> None:
    svm, payer = funded()
    copy = svm.copy()
    copy.airdrop(payer.pubkey(), 1)
    assert svm.get_balance(payer.pubkey()) == 10 * SOL
    assert copy.get_balance(payer.pubkey()) == 10 * SOL + 1


@pytest.mark.parametrize("value", [b"", b"\0" * 31, b"\0" * 33])
def test_addresses_have_32_bytes(value: bytes) -> None:
    with pytest.raises(ValueError, match="32 are expected"):
        selkie.Svm().get_balance(value)


@pytest.mark.parametrize("value", [7, "11111111111111111111111111111111", None])
def test_addresses_are_bytes(value: object) -> None:
    with pytest.raises(TypeError, match="must be bytes"):
        selkie.Svm().get_balance(value)  # type: ignore[arg-type]


def test_a_program_that_is_no_elf_file_is_rejected() -> None:
    with pytest.raises(selkie.SelkieError):
        selkie.Svm().add_program(Pubkey.new_unique(), b"not an ELF file")
    with pytest.raises(selkie.SelkieError, match="missing.so"):
        selkie.Svm().add_program_from_file(Pubkey.new_unique(), "missing.so")


def test_the_past_cannot_be_reached() -> None:
    svm = selkie.Svm()
    svm.warp_to_slot(100)
    with pytest.raises(selkie.SelkieError, match="cannot warp to slot 5"):
        svm.warp_to_slot(5)


def test_balances_do_not_overflow() -> None:
    svm, payer = funded()
    with pytest.raises(selkie.SelkieError, match="cannot add"):
        svm.airdrop(payer.pubkey(), 2**64 - 1)
    with pytest.raises(OverflowError):
        svm.airdrop(payer.pubkey(), -1)


def test_settings_return_the_chain() -> None:
    svm, payer = funded()
    assert svm.with_sigverify(False).with_blockhash_check(False) is svm
    assert not svm.get_sigverify()
    sent = signed(svm, payer, Pubkey.new_unique(), SOL)
    for _ in range(2):
        assert isinstance(svm.send_transaction(sent), selkie.TransactionMetadata)


def test_the_clock_can_be_set() -> None:
    svm = selkie.Svm()
    clock = svm.get_clock()
    clock.unix_timestamp = 7
    svm.set_clock(clock)
    assert svm.get_clock().unix_timestamp == 7


def test_threads_may_share_a_chain() -> None:
    svm = selkie.Svm()
    keys = [Pubkey.new_unique() for _ in range(8)]

    def work(key: Pubkey) -> None:
        for _ in range(200):
            svm.airdrop(key, 1)
            svm.minimum_balance_for_rent_exemption(1)

    threads = [threading.Thread(target=work, args=(key,)) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [svm.get_balance(key) for key in keys] == [200] * 8


def test_a_fork_goes_on_with_its_copy() -> None:
    svm, payer = funded()
    child = os.fork()
    if child == 0:
        result = svm.send_transaction(signed(svm, payer, Pubkey.new_unique(), SOL))
        os._exit(0 if isinstance(result, selkie.TransactionMetadata) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert svm.get_balance(payer.pubkey()) == 10 * SOL


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_the_environment_selects_the_engine() -> None:
    for engine in ["auto", "interpreter", "jit"]:
        assert python("import selkie; selkie.Svm()", SELKIE_ENGINE=engine).returncode == 0
    wrong = python("import selkie; selkie.Svm()", SELKIE_ENGINE="fast")
    assert "no engine is named `fast`" in wrong.stderr


def test_a_panic_is_an_exception() -> None:
    code = """
import selkie
svm = selkie.Svm()
payer = selkie.keypair("alice")
svm.airdrop(payer.pubkey(), 10**9)
from test_svm import signed
try:
    svm.send_transaction(signed(svm, payer, payer.pubkey(), 1))
except selkie.EngineCrash as crash:
    assert "SELKIE_RECORD: cannot write" in str(crash)
    assert svm.get_balance(payer.pubkey()) is not None
else:
    raise AssertionError("no exception")
"""
    here = os.path.dirname(__file__)
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    ended = python(code, SELKIE_RECORD="/dev/null/folder", PYTHONPATH=path)
    assert ended.returncode == 0, ended.stderr


def test_the_import_starts_no_thread() -> None:
    code = "import os, selkie, selkie.batch; print(len(os.listdir('/proc/self/task')))"
    assert python(code).stdout.strip() == "1"


def test_without_solders_everything_is_bytes() -> None:
    code = """
import sys
sys.modules["solders"] = None
import selkie
svm = selkie.Svm()
keypair = selkie.keypair("alice")
alice = keypair[32:]
svm.airdrop(alice, 5)
assert svm.get_account(alice) == selkie.Account(5, b"", bytes(32))
assert type(svm.latest_blockhash()) is bytes
failed = svm.send_transaction(b"")
assert failed.err() == failed.error == "SanitizeFailure" and failed.is_dropped
svm.set_clock(svm.get_clock())
"""
    ended = python(code)
    assert ended.returncode == 0, ended.stderr
