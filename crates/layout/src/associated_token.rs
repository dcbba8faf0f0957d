//! The associated token account program.

use solana_pubkey::Pubkey;
use solana_sdk_ids::system_program;

use crate::declare::instructions;

/// The address of the program.
pub const ID: Pubkey = Pubkey::from_str_const("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");

instructions! {
    /// An instruction of the associated token account program.
    for<'a> AssociatedTokenInstruction, u8 {
        0 => Create [
            ws("source"),
            w("account"),
            r("wallet"),
            r("mint"),
            at("system_program", system_program::ID),
            r("token_program"),
        ] {}
        1 => CreateIdempotent [
            ws("source"),
            w("account"),
            r("wallet"),
            r("mint"),
            at("system_program", system_program::ID),
            r("token_program"),
        ] {}
        2 => RecoverNested [
            w("nested_source"),
            r("nested_mint"),
            w("destination"),
            r("nested_owner"),
            r("owner_mint"),
            ws("wallet"),
            r("token_program"),
        ] {}
    }
}
