"""Solana programs and transactions in-process, exactly as on mainnet: one, or millions.

- `Svm`: a chain in the test process, with the methods of `solders.litesvm.LiteSVM`
- `selkie.batch`: batches of self-contained transactions over Arrow, from any source to any sink
- `selkie.spark`, `selkie.ray`: the same on a cluster, by Spark, Sail or Ray

With the package `solders`, addresses, accounts, hashes and errors are its types; without, they are
bytes, `Account` and what JSON-RPC says. The environment variable `SELKIE_ENGINE` selects the engine:
`auto` (the default), `interpreter` or `jit`.
"""

from selkie._native import VERSION as __version__
from selkie._native import EngineCrash, SelkieError
from selkie.convert import Account, BytesLike
from selkie.results import (
    FailedTransactionMetadata,
    SimulatedTransactionInfo,
    TransactionMetadata,
    TransactionResult,
)
from selkie.svm import Svm, keypair

__all__ = [
    "Account",
    "BytesLike",
    "EngineCrash",
    "FailedTransactionMetadata",
    "SelkieError",
    "SimulatedTransactionInfo",
    "Svm",
    "TransactionMetadata",
    "TransactionResult",
    "__version__",
    "keypair",
]
