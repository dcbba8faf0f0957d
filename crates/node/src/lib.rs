//! A local Solana cluster in the process: block production, commitments, history, events, faucet and
//! cheatcodes. It has no HTTP server; `selkie-rpc` puts one in front of it.
//!
//! ```text
//! send ── verify, simulate ──> writer thread: batch ──> Bank ──> Block ──> Chain (readers, events)
//!                                                                  └────> committer thread ──> ledger
//! view ──> Bank at a commitment         transaction, block, … ──> Chain: History
//! ```
//!
//! Time comes from a [`Clock`] in the [`Options`]. A node has no global state: a process may run many.
//!
//! **Time and blocks.** On demand, a batch of transactions makes a block at once. Between blocks,
//! slots follow the clock when the state is read: an empty block is made, at most one per slot time. When
//! blocks come faster than slot times, slots run ahead, and the block height counts slot times instead
//! of blocks: so a blockhash, valid for 150 block heights, lives 150 slot times or longer however fast
//! blocks come. Every block has a new blockhash, and its timestamp is that of the clock sysvar.
//!
//! | module | what it owns |
//! |---|---|
//! | `node` | [`Node`]: the handle; start and stop |
//! | `options`, `clock` | [`Options`]; where time comes from |
//! | `view` | [`View`]: the state at a commitment; simulations |
//! | `send`, `airdrop`, `recent_airdrops`, `impersonation` | transactions on their way in |
//! | `fetch`, `fetched`, `source` | accounts of another cluster |
//! | `query`, `fees` | blocks, transactions, statuses, prices of compute units |
//! | `events` | [`Event`]: what subscribers are told |
//! | `cheats` | changes that no transaction makes |
//! | `writer`, `producer`, `process`, `snapshots` | the thread that makes blocks |
//! | `packing`, `cost` | which transactions fit into a block |
//! | `timeline` | which slot comes next, and when |
//! | `committer` | the thread that writes to the ledger |
//! | `chain`, `index`, `shared` | what readers see |
//! | `replay` | [`Node::replay`]: a transaction with the state before it, to be replayed |
//! | `recording` | the newest transactions, each with the state before it |
//! | `trace` | [`Trace`]: the call tree of a transaction |
//! | `genesis`, `validator` | the first state |
//! | `landed`, `diff`, `cost`, `token`, `missing` | what is recorded of transactions |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod airdrop;
mod bundle;
mod chain;
mod cheats;
mod clock;
mod committer;
mod cost;
mod diff;
mod error;
mod events;
mod fees;
mod fetch;
mod fetched;
mod genesis;
mod impersonation;
mod index;
mod landed;
mod missing;
mod node;
mod options;
mod packing;
mod process;
mod producer;
mod query;
mod recent_airdrops;
mod recording;
mod replay;
mod scheduled;
mod send;
mod shared;
mod snapshots;
mod source;
mod timeline;
mod token;
mod trace;
mod validator;
mod view;
mod working;
mod writer;

pub use selkie_svm::{RewardKind, check::is_reserved};

pub use selkie_bank::rewards::partition_of as reward_partition;
pub use selkie_ledger::{
    AccountDiff, Block, Commit, DataDiff, Header, HistoryLimit, InnerInstruction,
    InnerInstructions, Landed, LoadedAddresses, Meta, ReturnData, RewardRecord, Store, StoreError,
    TokenBalance, UnknownSignature,
    dump::{self, DumpError},
};

pub use selkie_programs::token::{TokenEdit, TokenState};

pub use crate::{
    bundle::{BundleResult, BundleStep},
    cheats::Travel,
    clock::{Clock, ManualClock, SystemClock},
    error::{BUNDLE_TRANSACTIONS_MAX, BundleError, NodeError, SendError},
    events::{Event, Events},
    fees::writable,
    index::TokenIndex,
    node::Node,
    options::{ALPENGLOW_GATE, BlockMode, Finality, GenesisProgram, Options, SLOT_MILLISECONDS},
    query::{AddressQuery, NoBlock, PerformanceSample, Stats, Status},
    recording::RECORDED_BLOCKS_MAX,
    scheduled::ScheduledEdit,
    send::SendOptions,
    shared::Info,
    source::{Fetch, FetchError},
    trace::{Changed, ProgramCall, Trace},
    view::{EpochInfo, SimulateOptions, Simulation, View},
};
