"""`Svm`: a chain in the test process."""

from __future__ import annotations

import os
from typing import Any

from selkie import convert
from selkie._native import Chain, keypair_bytes
from selkie.engine import engine_name
from selkie.results import SimulateResult, TransactionResult, sent, simulated
from selkie.convert import PUBKEY_BYTES, SIGNATURE_BYTES, AccountLike, BytesLike, to_bytes


def keypair(name: str) -> Any:
    """Return the keypair derived from a name: of `solders`, or 64 bytes. It is not secret."""
    return convert.keypair(keypair_bytes(name))


def _key(address: BytesLike) -> bytes:
    return to_bytes(address, "an address", PUBKEY_BYTES)


class Svm:
    """A Solana chain inside the process: accounts, programs and a clock, changed by transactions
    exactly as on mainnet.

    It has the methods of `solders.litesvm.LiteSVM`. It is deterministic: it reads no clock and uses
    no randomness. A new one is in slot 1 with mainnet's features, rent, fees, builtin programs,
    sysvars, token programs and others. Threads may share one; they wait for each other.
    """

    def __init__(self, *, engine: str | None = None, _chain: Chain | None = None) -> None:
        """Create a chain. `engine` is `auto`, `interpreter` or `jit` [default: `SELKIE_ENGINE`]."""
        self._chain = _chain or Chain(engine_name(engine))
        self._sigverify = True

    def copy(self) -> Svm:
        """Return a chain with the same state, which then changes independently."""
        copy = Svm(_chain=self._chain.copy())
        copy._sigverify = self._sigverify
        return copy

    # Settings.

    def with_sigverify(self, sigverify: bool) -> Svm:
        """Set whether signatures are verified."""
        self._chain.set_signature_checks(sigverify)
        self._sigverify = sigverify
        return self

    def get_sigverify(self) -> bool:
        """Return whether signatures are verified."""
        return self._sigverify

    def with_blockhash_check(self, check: bool) -> Svm:
        """Set whether blockhashes must be recent and transactions new."""
        self._chain.set_blockhash_checks(check)
        return self

    def with_transaction_history(self, capacity: int) -> Svm:
        """Set how many transactions `get_transaction` remembers."""
        self._chain.set_history(capacity)
        return self

    def with_log_bytes_limit(self, limit: int | None = None) -> Svm:
        """Set how many bytes of log a transaction may write; `None` for no limit."""
        self._chain.set_log_bytes_limit(limit)
        return self

    # Accounts.

    def airdrop(self, address: BytesLike, lamports: int) -> None:
        """Add lamports to an account, creating it if it does not exist."""
        self._chain.airdrop(_key(address), lamports)

    def get_balance(self, address: BytesLike) -> int | None:
        """Return the balance of an account in lamports, `None` if it does not exist."""
        return self._chain.balance(_key(address))

    def get_account(self, address: BytesLike) -> Any:
        """Return an account, `None` if it does not exist.

        It is a `solders.account.Account` where that is installed, else a `selkie.Account`.
        """
        fields = self._chain.account(_key(address))
        return None if fields is None else convert.account(fields)

    def set_account(self, address: BytesLike, account: AccountLike) -> None:
        """Set an account, replacing any that is there. One with 0 lamports is deleted.

        Setting the account of a sysvar also sets what programs read by syscall.
        """
        owner = to_bytes(account.owner, "an owner", PUBKEY_BYTES)
        data = bytes(account.data)
        self._chain.set_account(
            _key(address), account.lamports, data, owner, account.executable, account.rent_epoch
        )

    def get_program_accounts(
        self, program_id: BytesLike, data_size: int | None = None
    ) -> list[tuple[Any, Any]]:
        """Return the accounts that a program owns, sorted by address."""
        found = self._chain.program_accounts(_key(program_id), data_size)
        return [(convert.pubkey(key), convert.account(fields)) for key, fields in found]

    def minimum_balance_for_rent_exemption(self, data_len: int) -> int:
        """Return the minimum balance in lamports of an account with that many bytes of data."""
        return self._chain.minimum_balance_for_rent_exemption(data_len)

    # Programs.

    def add_program(self, program_id: BytesLike, program_bytes: BytesLike) -> None:
        """Add a program, given as an ELF file's bytes. Raises `SelkieError` if it is rejected."""
        elf = to_bytes(program_bytes, "a program")
        self._chain.add_program(_key(program_id), elf, None)

    def add_program_with_loader(
        self, program_id: BytesLike, program_bytes: BytesLike, loader_id: BytesLike
    ) -> None:
        """Add a program that a loader owns."""
        elf = to_bytes(program_bytes, "a program")
        self._chain.add_program(_key(program_id), elf, _key(loader_id))

    def add_program_from_file(
        self, program_id: BytesLike, path: str | os.PathLike[str]
    ) -> None:
        """Add a program from an ELF file. Failures of it then show its source lines."""
        self._chain.add_program_from_file(_key(program_id), os.fspath(path))

    # Transactions.

    def send_transaction(self, tx: BytesLike) -> TransactionResult:
        """Send a transaction: one of `solders`, or its bytes.

        A failure is not an exception but a result, `FailedTransactionMetadata`.
        """
        return sent(self._chain.send(to_bytes(tx, "a transaction")))

    def simulate_transaction(self, tx: BytesLike) -> SimulateResult:
        """Return what `send_transaction` would do, without changing anything."""
        return simulated(self._chain.simulate(to_bytes(tx, "a transaction")))

    def get_transaction(self, signature: BytesLike) -> TransactionResult | None:
        """Return the result of a transaction that paid its fee, if it is still in the history."""
        receipt = self._chain.transaction(to_bytes(signature, "a signature", SIGNATURE_BYTES))
        return None if receipt is None else sent(receipt)

    # Time.

    def latest_blockhash(self) -> Any:
        """Return the blockhash to sign transactions with."""
        return convert.blockhash(self._chain.latest_blockhash())

    def expire_blockhash(self) -> None:
        """Add a blockhash and expire all others."""
        self._chain.expire_blockhash()

    def warp_to_slot(self, slot: int) -> None:
        """Advance to a later slot: clock, slot hashes, blockhashes and stakes follow."""
        self._chain.warp_to_slot(slot)

    def get_clock(self) -> Any:
        """Return the clock sysvar."""
        return convert.clock(self._chain.clock())

    def set_clock(self, clock: Any) -> None:
        """Set the clock sysvar, to a `solders.clock.Clock` or a `selkie.convert.Clock`."""
        fields = (
            clock.slot,
            clock.epoch_start_timestamp,
            clock.epoch,
            clock.leader_schedule_epoch,
            clock.unix_timestamp,
        )
        self._chain.set_clock(fields)
