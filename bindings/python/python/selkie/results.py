"""Results of transactions, with the methods of those of `solders.litesvm`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Union

from selkie import convert
from selkie._native import Receipt

SYSTEM_PROGRAM = bytes(convert.PUBKEY_BYTES)


@dataclass(frozen=True)
class InnerInstruction:
    """An instruction that a program invoked. Indexes are into the transaction's accounts."""

    program_id_index: int
    accounts: bytes
    data: bytes
    stack_height: int


@dataclass(frozen=True)
class ReturnData:
    """What a program returned."""

    program_id: Any
    data: bytes


class TransactionMetadata:
    """What a transaction did. Its text is a report for people."""

    def __init__(self, receipt: Receipt) -> None:
        self._receipt = receipt

    def signature(self) -> Any:
        """Return the first signature."""
        return convert.signature(self._receipt.signature)

    def logs(self) -> list[str]:
        """Return the log lines."""
        return self._receipt.logs

    def pretty_logs(self) -> str:
        """Return a report: the log with what it means, and why the transaction failed."""
        return str(self._receipt)

    def compute_units_consumed(self) -> int:
        """Return the compute units consumed."""
        return self._receipt.compute_units

    def fee(self) -> int:
        """Return the fee in lamports."""
        return self._receipt.fee

    def slot(self) -> int:
        """Return the slot in which the transaction was processed."""
        return self._receipt.slot

    def return_data(self) -> ReturnData:
        """Return what was returned last. It is empty if no program returned anything."""
        program, data = self._receipt.return_data or (SYSTEM_PROGRAM, b"")
        return ReturnData(convert.pubkey(program), data)

    def inner_instructions(self) -> list[list[InnerInstruction]]:
        """Return the inner instructions of each top-level instruction, as they were executed."""
        return [
            [InnerInstruction(*inner) for inner in of_one]
            for of_one in self._receipt.inner_instructions
        ]

    def __str__(self) -> str:
        return str(self._receipt)

    def __repr__(self) -> str:
        signature, units = self.signature(), self.compute_units_consumed()
        return f"<{type(self).__name__} {signature!s}, {units} compute units>"


class FailedTransactionMetadata:
    """A transaction that failed or was dropped. Its text is a report for people."""

    def __init__(self, receipt: Receipt) -> None:
        self._receipt = receipt

    def err(self) -> Any:
        """Return the error: that of `solders` where it is installed, else what `error` is."""
        return convert.transaction_error(self.error)

    @property
    def error(self) -> Any:
        """The error as JSON-RPC has it in `err`: a string or a dictionary."""
        return json.loads(self._receipt.error_json or "null")

    @property
    def is_dropped(self) -> bool:
        """Whether it was dropped: it paid no fee and changed nothing."""
        return self._receipt.stage == "dropped"

    def meta(self) -> TransactionMetadata:
        """Return what the transaction did until it failed."""
        return TransactionMetadata(self._receipt)

    def __str__(self) -> str:
        return str(self._receipt)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._receipt.error_json}>"


class SimulatedTransactionInfo:
    """What a transaction would do."""

    def __init__(self, receipt: Receipt) -> None:
        self._receipt = receipt

    def meta(self) -> TransactionMetadata:
        """Return what the transaction would do."""
        return TransactionMetadata(self._receipt)

    def post_accounts(self) -> list[tuple[Any, Any]]:
        """Return the accounts that would be there after it, with their addresses."""
        return [
            (convert.pubkey(key), convert.account(fields))
            for key, fields in self._receipt.post_accounts
            if fields is not None
        ]

    def __str__(self) -> str:
        return str(self._receipt)


TransactionResult = Union[TransactionMetadata, FailedTransactionMetadata]
SimulateResult = Union[SimulatedTransactionInfo, FailedTransactionMetadata]


def sent(receipt: Receipt) -> TransactionResult:
    """Return the result of a transaction that was sent."""
    if receipt.error_json is None:
        return TransactionMetadata(receipt)
    return FailedTransactionMetadata(receipt)


def simulated(receipt: Receipt) -> SimulateResult:
    """Return the result of a simulation."""
    if receipt.error_json is None:
        return SimulatedTransactionInfo(receipt)
    return FailedTransactionMetadata(receipt)
