//! Decoding of the system program's instructions.

use selkie_svm::Pubkey;

use crate::wire::{Malformed, Reader};

/// An instruction of the system program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SystemInstruction<'a> {
    CreateAccount { lamports: u64, space: u64, owner: Pubkey },
    Assign { owner: Pubkey },
    Transfer { lamports: u64 },
    CreateAccountWithSeed { base: Pubkey, seed: &'a str, lamports: u64, space: u64, owner: Pubkey },
    AdvanceNonceAccount,
    WithdrawNonceAccount(u64),
    InitializeNonceAccount(Pubkey),
    AuthorizeNonceAccount(Pubkey),
    Allocate { space: u64 },
    AllocateWithSeed { base: Pubkey, seed: &'a str, space: u64, owner: Pubkey },
    AssignWithSeed { base: Pubkey, seed: &'a str, owner: Pubkey },
    TransferWithSeed { lamports: u64, from_seed: &'a str, from_owner: Pubkey },
    UpgradeNonceAccount,
    CreateAccountAllowPrefund { lamports: u64, space: u64, owner: Pubkey },
}

impl<'a> SystemInstruction<'a> {
    pub(crate) fn read(data: &'a [u8]) -> Result<Self, Malformed> {
        let mut it = Reader::instruction(data);
        Ok(match it.u32()? {
            0 => Self::CreateAccount { lamports: it.u64()?, space: it.u64()?, owner: it.pubkey()? },
            1 => Self::Assign { owner: it.pubkey()? },
            2 => Self::Transfer { lamports: it.u64()? },
            3 => Self::CreateAccountWithSeed {
                base: it.pubkey()?,
                seed: it.string()?,
                lamports: it.u64()?,
                space: it.u64()?,
                owner: it.pubkey()?,
            },
            4 => Self::AdvanceNonceAccount,
            5 => Self::WithdrawNonceAccount(it.u64()?),
            6 => Self::InitializeNonceAccount(it.pubkey()?),
            7 => Self::AuthorizeNonceAccount(it.pubkey()?),
            8 => Self::Allocate { space: it.u64()? },
            9 => Self::AllocateWithSeed {
                base: it.pubkey()?,
                seed: it.string()?,
                space: it.u64()?,
                owner: it.pubkey()?,
            },
            10 => {
                Self::AssignWithSeed { base: it.pubkey()?, seed: it.string()?, owner: it.pubkey()? }
            }
            11 => Self::TransferWithSeed {
                lamports: it.u64()?,
                from_seed: it.string()?,
                from_owner: it.pubkey()?,
            },
            12 => Self::UpgradeNonceAccount,
            13 => Self::CreateAccountAllowPrefund {
                lamports: it.u64()?,
                space: it.u64()?,
                owner: it.pubkey()?,
            },
            _ => return Err(Malformed),
        })
    }
}
