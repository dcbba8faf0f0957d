//! The system program, and nonce accounts (agave: `solana-system-interface`, `solana-nonce`).

use solana_instruction::Instruction;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{system_program, sysvar};

use crate::declare::{instructions, layout};

/// The address of the system program.
pub const ID: Pubkey = system_program::ID;

#[allow(deprecated, reason = "nonces look at this sysvar")]
const RECENT_BLOCKHASHES: Pubkey = sysvar::recent_blockhashes::ID;

instructions! {
    /// An instruction of the system program.
    for<'a> SystemInstruction<'a>, u32 {
        0 => CreateAccount [ws("source"), ws("new_account")] {
            lamports: u64, space: u64, owner: Pubkey
        }
        1 => Assign [ws("account")] { owner: Pubkey }
        2 => Transfer [ws("source"), w("destination")] { lamports: u64 }
        3 => CreateAccountWithSeed [ws("source"), w("new_account")] {
            base: Pubkey, seed: &'a str, lamports: u64, space: u64, owner: Pubkey
        }
        4 => AdvanceNonce [
            w("nonce_account"),
            at("recent_blockhashes_sysvar", RECENT_BLOCKHASHES),
            s("nonce_authority"),
        ] {}
        5 => WithdrawFromNonce [
            w("nonce_account"),
            w("destination"),
            at("recent_blockhashes_sysvar", RECENT_BLOCKHASHES),
            at("rent_sysvar", sysvar::rent::ID),
            s("nonce_authority"),
        ] { lamports: u64 }
        6 => InitializeNonce [
            w("nonce_account"),
            at("recent_blockhashes_sysvar", RECENT_BLOCKHASHES),
            at("rent_sysvar", sysvar::rent::ID),
        ] { nonce_authority: Pubkey }
        7 => AuthorizeNonce [w("nonce_account"), s("nonce_authority")] { new_authorized: Pubkey }
        8 => Allocate [ws("account")] { space: u64 }
        9 => AllocateWithSeed [w("account")] at least 2 {
            base: Pubkey, seed: &'a str, space: u64, owner: Pubkey
        }
        10 => AssignWithSeed [w("account")] at least 2 { base: Pubkey, seed: &'a str, owner: Pubkey }
        11 => TransferWithSeed [w("source"), s("source_base"), w("destination")] {
            lamports: u64, source_seed: &'a str, source_owner: Pubkey
        }
        12 => UpgradeNonce [w("nonce_account")] {}
        // Without lamports there is no funding account.
        13 => CreateAccountAllowPrefund [ws("new_account"), ws("source")] {
            lamports: u64, space: u64, owner: Pubkey
        }
    }
}

/// Returns the instruction that transfers lamports. The sender signs.
#[must_use]
pub fn transfer(from: &Pubkey, to: &Pubkey, lamports: u64) -> Instruction {
    SystemInstruction::Transfer { lamports }.instruction(&ID, &[*from, *to])
}

/// Returns the instruction that creates an account of `space` bytes. Both accounts sign.
#[must_use]
pub fn create_account(
    from: &Pubkey,
    to: &Pubkey,
    lamports: u64,
    space: u64,
    owner: &Pubkey,
) -> Instruction {
    let create = SystemInstruction::CreateAccount { lamports, space, owner: *owner };
    create.instruction(&ID, &[*from, *to])
}

layout! {
    /// An initialized nonce account.
    NonceAccount, NonceAccountAt, NONCE_ACCOUNT {
        /// 0 for nonces that are blockhashes, which are no longer valid; 1 for durable ones.
        version: u32 as Hidden,
        /// 1 for one that is initialized.
        state: u32 as Hidden,
        /// The address that must sign to use the nonce.
        authority: Pubkey,
        /// The value that a transaction uses as its blockhash.
        blockhash: [u8; 32] as Base58,
        /// The fee per signature when the nonce was last advanced, in lamports.
        fee_calculator: FeeCalculator,
    }
}

layout! {
    /// The fee for signatures.
    FeeCalculator, FeeCalculatorAt, FEE_CALCULATOR {
        /// Lamports per signature.
        lamports_per_signature: u64 as Text,
    }
}
