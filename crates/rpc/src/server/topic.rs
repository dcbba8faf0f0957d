//! Subscriptions: what each one is about, and how its notifications look.

use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;
use solana_signature::Signature;

use crate::{
    config::{BlockConfig, Condition},
    encode::account::Form,
};

/// The sysvars that change with every slot.
const SLOT_SYSVARS: [Pubkey; 4] = [
    sysvar::clock::ID,
    sysvar::recent_blockhashes::ID,
    sysvar::slot_hashes::ID,
    sysvar::slot_history::ID,
];

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
    pub(crate) fn needs_slots(&self) -> bool {
        match self {
            Self::Slot | Self::Root | Self::SlotsUpdates | Self::Block(_) => true,
            Self::Account(key, _) => SLOT_SYSVARS.contains(key),
            Self::Program(key, _) => *key == sysvar::ID,
            _ => false,
        }
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

#[cfg(test)]
mod tests {
    use solana_commitment_config::CommitmentLevel::Confirmed;

    use super::*;

    #[test]
    fn accounts_that_change_with_slots_need_slots() {
        assert!(Topic::Account(sysvar::clock::ID, Confirmed).needs_slots());
        assert!(Topic::Program(sysvar::ID, Confirmed).needs_slots());
        assert!(!Topic::Account(sysvar::rent::ID, Confirmed).needs_slots());
        assert!(!Topic::Program(sysvar::clock::ID, Confirmed).needs_slots());
    }
}
