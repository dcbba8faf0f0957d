//! Instructions that SPL Token and Token-2022 share.

use solana_pubkey::Pubkey;
use solana_sdk_ids::{system_program, sysvar};

use super::extension::ExtensionTypes;
use crate::{
    declare::{instructions, names},
    wire::Rest,
};

/// The first byte of several instructions in one: for each of them the number of its accounts, the length
/// of its data, and the data follow.
pub const BATCH: u8 = 255;

names! {
    /// An authority over a mint or a token account.
    AuthorityType: u8 {
        MintTokens,
        FreezeAccount,
        AccountOwner,
        CloseAccount,
        TransferFeeConfig,
        WithheldWithdraw,
        CloseMint,
        InterestRate,
        PermanentDelegate,
        ConfidentialTransferMint,
        TransferHookProgramId,
        ConfidentialTransferFeeConfig,
        MetadataPointer,
        GroupPointer,
        GroupMemberPointer,
        ScaledUiAmount,
        Pause,
        PermissionedBurn,
    }
}

instructions! {
    /// An instruction of a token program, whose first byte tells it.
    for<'a> TokenInstruction<'a>, u8 {
        0 => InitializeMint [w("mint"), at("rent_sysvar", sysvar::rent::ID)] {
            decimals: u8, mint_authority: Pubkey, freeze_authority: Option<Pubkey>
        }
        1 => InitializeAccount [
            w("account"),
            r("mint"),
            r("owner"),
            at("rent_sysvar", sysvar::rent::ID),
        ] {}
        2 => InitializeMultisig [
            w("multisig"),
            at("rent_sysvar", sysvar::rent::ID),
            r("signers").some(),
        ] { m: u8 }
        3 => Transfer [w("source"), w("destination"), auth("authority")] { amount: u64 as Text }
        4 => Approve [w("source"), r("delegate"), auth("owner")] { amount: u64 as Text }
        5 => Revoke [w("source"), auth("owner")] {}
        // Of an account, the name of the first account is another one.
        6 => SetAuthority [w("mint"), auth("authority")] {
            authority_type: AuthorityType as Lower, new_authority: Option<Pubkey> as Null
        }
        7 => MintTo [w("mint"), w("account"), auth("mint_authority")] { amount: u64 as Text }
        8 => Burn [w("account"), w("mint"), auth("authority")] { amount: u64 as Text }
        9 => CloseAccount [w("account"), w("destination"), auth("owner")] {}
        10 => FreezeAccount [w("account"), r("mint"), auth("freeze_authority")] {}
        11 => ThawAccount [w("account"), r("mint"), auth("freeze_authority")] {}
        12 => TransferChecked [w("source"), r("mint"), w("destination"), auth("authority")] {
            token_amount: u64 as Amount, decimals: u8 as Hidden
        }
        13 => ApproveChecked [w("source"), r("mint"), r("delegate"), auth("owner")] {
            token_amount: u64 as Amount, decimals: u8 as Hidden
        }
        14 => MintToChecked [w("mint"), w("account"), auth("mint_authority")] {
            token_amount: u64 as Amount, decimals: u8 as Hidden
        }
        15 => BurnChecked [w("account"), w("mint"), auth("authority")] {
            token_amount: u64 as Amount, decimals: u8 as Hidden
        }
        16 => InitializeAccount2 [
            w("account"),
            r("mint"),
            at("rent_sysvar", sysvar::rent::ID),
        ] { owner: Pubkey }
        17 => SyncNative [w("account")] {}
        18 => InitializeAccount3 [w("account"), r("mint")] { owner: Pubkey }
        19 => InitializeMultisig2 [w("multisig"), r("signers").some()] { m: u8 }
        20 => InitializeMint2 [w("mint")] {
            decimals: u8, mint_authority: Pubkey, freeze_authority: Option<Pubkey>
        }
        21 => GetAccountDataSize [r("mint")] { extension_types: ExtensionTypes as NonEmpty }
        22 => InitializeImmutableOwner [w("account")] {}
        23 => AmountToUiAmount [r("mint")] { amount: u64 as Text }
        24 => UiAmountToAmount [r("mint")] { ui_amount: Rest<'a> }
        25 => InitializeMintCloseAuthority [w("mint")] { new_authority: Option<Pubkey> as Null }
        29 => Reallocate [
            w("account"),
            ws("payer"),
            at("system_program", system_program::ID),
            auth("owner"),
        ] { extension_types: ExtensionTypes }
        31 => CreateNativeMint [
            ws("payer"),
            w("native_mint"),
            at("system_program", system_program::ID),
        ] {}
        32 => InitializeNonTransferableMint [w("mint")] {}
        35 => InitializePermanentDelegate [w("mint")] { delegate: Pubkey }
        38 => WithdrawExcessLamports [w("source"), w("destination"), auth("authority")] {}
        45 => UnwrapLamports [w("source"), w("destination"), auth("authority")] {
            amount: Option<u64> as Text
        }
    }
}
