//! Subscriptions: what each one is about, and how its notifications look.

use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_signature::Signature;

use crate::{
    config::{BlockConfig, Condition},
    encode::account::Form,
};

/// What a subscription is found by when something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    Signature(Signature, CommitmentLevel),
    Received(Signature),
    Account(Pubkey, CommitmentLevel),
    Program(Pubkey, CommitmentLevel),
    Logs(CommitmentLevel),
    LogsOf(Pubkey, CommitmentLevel),
    Block(CommitmentLevel),
    Slot,
    Root,
    SlotsUpdates,
}

impl Topic {
    /// Returns the name of the subscription.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Signature(..) | Self::Received(_) => "signature",
            Self::Account(..) => "account",
            Self::Program(..) => "program",
            Self::Logs(_) | Self::LogsOf(..) => "logs",
            Self::Block(_) => "block",
            Self::Slot => "slot",
            Self::Root => "root",
            Self::SlotsUpdates => "slotsUpdates",
        }
    }

    /// Returns whether it waits for slots, which then have to follow the clock.
    pub(crate) const fn needs_slots(&self) -> bool {
        matches!(self, Self::Slot | Self::Root | Self::SlotsUpdates | Self::Block(_))
    }
}

/// What a subscription wants beyond its topic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Detail {
    /// Nothing.
    None,
    /// A signature that is also announced when it is received.
    Received(Signature),
    /// Accounts in a form.
    Account(Form),
    /// Accounts of a program in a form that meet all conditions.
    Program(Form, Vec<Condition>),
    /// Blocks, or those of their transactions that mention an address.
    Block(Option<Pubkey>, BlockConfig),
}
