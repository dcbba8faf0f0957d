"""Runs a scenario of testdata/scenarios on a chain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from solders.account import Account
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import Transaction

import selkie

FOLDER = Path(__file__).parents[3] / "testdata" / "scenarios"


class Runner:
    """The chain of a scenario, and what its names stand for."""

    def __init__(self, scenario: dict[str, Any]) -> None:
        self.svm = selkie.Svm()
        self.keypairs: dict[str, Keypair] = {it: selkie.keypair(it) for it in scenario["keypairs"]}
        addresses = scenario["addresses"].items()
        self.addresses = {name: Pubkey.from_string(it) for name, it in addresses}
        self.addresses |= {name: it.pubkey() for name, it in self.keypairs.items()}

    def run(self, step: dict[str, Any]) -> None:
        ((name, fields),) = step.items()
        getattr(self, name)(**fields)

    def airdrop(self, to: str, lamports: int) -> None:
        self.svm.airdrop(self.addresses[to], lamports)

    def setAccount(
        self, address: str, lamports: int, owner: str, data: str = "", executable: bool = False
    ) -> None:
        key = self.addresses[owner]
        account = Account(lamports, bytes.fromhex(data), key, executable, 2**64 - 1)
        self.svm.set_account(self.addresses[address], account)

    def addProgram(self, id: str, file: str) -> None:
        self.svm.add_program_from_file(self.addresses[id], FOLDER / file)

    def send(self, expect: dict[str, Any], **transaction: Any) -> None:
        check_result(expect, self.svm.send_transaction(self.transaction(**transaction)))

    def simulate(self, expect: dict[str, Any], **transaction: Any) -> None:
        check_result(expect, self.svm.simulate_transaction(self.transaction(**transaction)))

    def sendBytes(self, transaction: str, expect: dict[str, Any]) -> None:
        check_result(expect, self.svm.send_transaction(bytes.fromhex(transaction)))

    def warpToSlot(self, slot: int) -> None:
        self.svm.warp_to_slot(slot)

    def expireBlockhash(self) -> None:
        self.svm.expire_blockhash()

    def transaction(self, instructions: list[dict[str, Any]], signers: list[str]) -> Transaction:
        keypairs = [self.keypairs[name] for name in signers]
        blockhash: Hash = self.svm.latest_blockhash()
        made = [self.instruction(**it) for it in instructions]
        message = Message.new_with_blockhash(made, keypairs[0].pubkey(), blockhash)
        return Transaction(keypairs, message, blockhash)

    def instruction(self, program: str, accounts: list[list[str]], data: str) -> Instruction:
        metas = [AccountMeta(self.addresses[it], "s" in f, "w" in f) for it, f in accounts]
        return Instruction(self.addresses[program], bytes.fromhex(data), metas)

    def check(
        self,
        balances: dict[str, int] = {},
        accounts: dict[str, Any] = {},
        slot: int | None = None,
        rentExemption: dict[str, int] = {},
    ) -> None:
        for name, lamports in balances.items():
            assert (self.svm.get_balance(self.addresses[name]) or 0) == lamports, name
        for name, expected in accounts.items():
            self.check_account(self.svm.get_account(self.addresses[name]), expected)
        if slot is not None:
            assert self.svm.get_clock().slot == slot
        for size, lamports in rentExemption.items():
            assert self.svm.minimum_balance_for_rent_exemption(int(size)) == lamports

    def check_account(self, account: Account | None, expected: dict[str, Any] | None) -> None:
        assert (account is None) == (expected is None)
        if account is None or expected is None:
            return
        found = {
            "lamports": account.lamports,
            "owner": account.owner,
            "data": bytes(account.data).hex(),
            "executable": account.executable,
        }
        if "owner" in expected:
            expected = {**expected, "owner": self.addresses[expected["owner"]]}
        assert {name: found[name] for name in expected} == expected


def check_result(expect: dict[str, Any], result: Any) -> None:
    """Compare a result with what a scenario expects."""
    error, meta = None, result
    if isinstance(result, selkie.FailedTransactionMetadata):
        error = result.error
        assert result.err() is not None
    if not isinstance(result, selkie.TransactionMetadata):
        meta = result.meta()
    found = {
        "error": error,
        "computeUnits": meta.compute_units_consumed(),
        "fee": meta.fee(),
        "logs": meta.logs(),
        "returnData": bytes(meta.return_data().data).hex(),
    }
    assert {name: found[name] for name in expect} == expect, str(result)


def read(path: Path) -> dict[str, Any]:
    """Read a scenario."""
    scenario: dict[str, Any] = json.loads(path.read_text())
    return scenario
