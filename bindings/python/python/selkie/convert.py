"""Conversion between bytes and the types of `solders`, where that is installed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, SupportsBytes, Union

try:
    from solders.account import Account as SoldersAccount
    from solders.clock import Clock as SoldersClock
    from solders.hash import Hash as SoldersHash
    from solders.keypair import Keypair as SoldersKeypair
    from solders.pubkey import Pubkey as SoldersPubkey
    from solders.rpc.responses import SimulateTransactionResp
    from solders.signature import Signature as SoldersSignature

    HAS_SOLDERS = True
except ImportError:
    HAS_SOLDERS = False

if TYPE_CHECKING:
    from selkie._native import AccountTuple, ClockTuple

BytesLike = Union[bytes, bytearray, memoryview, SupportsBytes]
"""Bytes, or an object of `solders` that converts to them."""

PUBKEY_BYTES = 32
SIGNATURE_BYTES = 64
RENT_EXEMPT_EPOCH = 2**64 - 1


class AccountLike(Protocol):
    """What has the fields of an account: `selkie.Account`, or that of `solders`."""

    @property
    def lamports(self) -> int: ...
    @property
    def data(self) -> bytes: ...
    @property
    def owner(self) -> BytesLike: ...
    @property
    def executable(self) -> bool: ...
    @property
    def rent_epoch(self) -> int: ...


@dataclass(frozen=True)
class Account:
    """An account, where `solders` is not installed."""

    lamports: int
    data: bytes
    owner: BytesLike
    executable: bool = False
    rent_epoch: int = RENT_EXEMPT_EPOCH


@dataclass(frozen=True)
class Clock:
    """The clock sysvar, where `solders` is not installed."""

    slot: int
    epoch_start_timestamp: int
    epoch: int
    leader_schedule_epoch: int
    unix_timestamp: int


def to_bytes(value: BytesLike, what: str, length: int | None = None) -> bytes:
    """Return `value` as bytes.

    Raises `TypeError` if it has no bytes, and `ValueError` if their number is wrong.
    """
    if isinstance(value, (str, int)) or not (
        isinstance(value, (bytes, bytearray, memoryview)) or hasattr(value, "__bytes__")
    ):
        kind = type(value).__name__
        raise TypeError(f"{what} must be bytes or a type of solders, not {kind}")
    converted = bytes(value)
    if length is not None and len(converted) != length:
        raise ValueError(f"{what} has {len(converted)} bytes, but {length} are expected")
    return converted


def pubkey(data: bytes) -> Any:
    """Return an address: `solders.pubkey.Pubkey`, or bytes."""
    return SoldersPubkey(data) if HAS_SOLDERS else data


def blockhash(data: bytes) -> Any:
    """Return a hash: `solders.hash.Hash`, or bytes."""
    return SoldersHash(data) if HAS_SOLDERS else data


def signature(data: bytes) -> Any:
    """Return a signature: `solders.signature.Signature`, or bytes."""
    return SoldersSignature(data) if HAS_SOLDERS else data


def keypair(data: bytes) -> Any:
    """Return a keypair: `solders.keypair.Keypair`, or the private key followed by the public one."""
    return SoldersKeypair.from_bytes(data) if HAS_SOLDERS else data


def account(fields: AccountTuple) -> Any:
    """Return an account: `solders.account.Account`, or `selkie.Account`."""
    lamports, data, owner, executable, rent_epoch = fields
    make: Any = SoldersAccount if HAS_SOLDERS else Account
    return make(lamports, data, pubkey(owner), executable, rent_epoch)


def clock(fields: ClockTuple) -> Any:
    """Return a clock: `solders.clock.Clock`, or `selkie.convert.Clock`."""
    make: Any = SoldersClock if HAS_SOLDERS else Clock
    return make(*fields)


def transaction_error(error: Any) -> Any:
    """Return a transaction error: that of `solders`, or what JSON-RPC has as `err`."""
    if not HAS_SOLDERS:
        return error
    value = {"err": error, "logs": [], "unitsConsumed": 0}
    response = {"jsonrpc": "2.0", "id": 1, "result": {"context": {"slot": 0}, "value": value}}
    # The parser of responses makes the types, so there is no table of them here.
    parsed = SimulateTransactionResp.from_json(json.dumps(response))
    return getattr(parsed, "value").err
