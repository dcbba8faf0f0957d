//! Instructions of Token-2022's extensions, and of its metadata and groups.

use solana_pubkey::Pubkey;

use super::AccountState;
use crate::{
    declare::instructions,
    kind::{Field, Kind, Lens, Name, Ref, Show, Variant},
    wire::{Malformed, OrZero, Reader, ShortText, Wire},
};

instructions! {
    /// An instruction of Token-2022 about an extension, which the first byte tells.
    for<'a> ExtensionInstruction, [u8; 2] {
        [26, 0] => InitializeTransferFeeConfig [w("mint")] {
            transfer_fee_config_authority: Option<Pubkey>,
            withdraw_withheld_authority: Option<Pubkey>,
            transfer_fee_basis_points: u16,
            maximum_fee: u64,
        }
        [26, 1] => TransferCheckedWithFee [
            w("source"),
            r("mint"),
            w("destination"),
            auth("authority"),
        ] { token_amount: u64 as Amount, decimals: u8 as Hidden, fee_amount: u64 as Amount }
        [26, 2] => WithdrawWithheldTokensFromMint [
            w("mint"),
            w("fee_recipient"),
            auth("withdraw_withheld_authority"),
        ] {}
        [26, 3] => WithdrawWithheldTokensFromAccounts [
            w("mint"),
            w("fee_recipient"),
            auth("withdraw_withheld_authority"),
            w("source_accounts").last(),
        ] { accounts: u8 as Count }
        [26, 4] => HarvestWithheldTokensToMint [w("mint"), w("source_accounts").rest()] {}
        // The lower-case letter is agave's.
        [26, 5] => SetTransferFee [
            w("mint"),
            auth_or("transfer_fee_config_authority", "multisigtransfer_fee_config_authority"),
        ] { transfer_fee_basis_points: u16, maximum_fee: u64 }
        [28, 0] => InitializeDefaultAccountState [w("mint")] {
            account_state: AccountState as Lower
        }
        [28, 1] => UpdateDefaultAccountState [w("mint"), auth("freeze_authority")] {
            account_state: AccountState as Lower
        }
        [30, 0] => EnableRequiredMemoTransfers [w("account"), auth("owner")] {}
        [30, 1] => DisableRequiredMemoTransfers [w("account"), auth("owner")] {}
        [33, 0] => InitializeInterestBearingConfig [w("mint")] {
            rate_authority: OrZero<Pubkey> as Null, rate: i16
        }
        [33, 1] => UpdateInterestBearingConfigRate [w("mint"), auth("rate_authority")] {
            new_rate: i16
        }
        [34, 0] => EnableCpiGuard [w("account"), auth("owner")] {}
        [34, 1] => DisableCpiGuard [w("account"), auth("owner")] {}
        [36, 0] => InitializeTransferHook [w("mint")] {
            authority: OrZero<Pubkey>, program_id: OrZero<Pubkey>
        }
        [36, 1] => UpdateTransferHook [w("mint"), auth("authority")] { program_id: OrZero<Pubkey> }
        [39, 0] => InitializeMetadataPointer [w("mint")] {
            authority: OrZero<Pubkey>, metadata_address: OrZero<Pubkey>
        }
        [39, 1] => UpdateMetadataPointer [w("mint"), auth("authority")] {
            metadata_address: OrZero<Pubkey>
        }
        [40, 0] => InitializeGroupPointer [w("mint")] {
            authority: OrZero<Pubkey>, group_address: OrZero<Pubkey>
        }
        [40, 1] => UpdateGroupPointer [w("mint"), auth("authority")] {
            group_address: OrZero<Pubkey>
        }
        [41, 0] => InitializeGroupMemberPointer [w("mint")] {
            authority: OrZero<Pubkey>, member_address: OrZero<Pubkey>
        }
        [41, 1] => UpdateGroupMemberPointer [w("mint"), auth("authority")] {
            member_address: OrZero<Pubkey>
        }
        [43, 0] => InitializeScaledUiAmountConfig [w("mint")] {
            authority: OrZero<Pubkey> as Null, multiplier: f64 as Text
        }
        [43, 1] => UpdateMultiplier [w("mint"), auth("authority")] {
            new_multiplier: f64 as Text, new_multiplier_timestamp: i64
        }
        [44, 0] => InitializePausableConfig [w("mint")] { authority: OrZero<Pubkey> as Null }
        [44, 1] => Pause [w("mint"), auth("authority")] {}
        [44, 2] => Resume [w("mint"), auth("authority")] {}
        [46, 0] => InitializePermissionedBurnConfig [w("mint")] { authority: Pubkey }
        [46, 1] => PermissionedBurn [
            w("account"),
            w("mint"),
            s("permissioned_burn_authority"),
            auth("authority"),
        ] { amount: u64 as Text }
        [46, 2] => PermissionedBurnChecked [
            w("account"),
            w("mint"),
            s("permissioned_burn_authority"),
            auth("authority"),
        ] { token_amount: u64 as Amount, decimals: u8 as Hidden }
    }
}

instructions! {
    /// An instruction of the interfaces for groups and metadata. The first bytes are those of the SHA-256 of
    /// `spl_token_group_interface:initialize_token_group` and the like.
    for<'a> InterfaceInstruction<'a>, [u8; 8] {
        [121, 113, 108, 39, 54, 51, 0, 4] => InitializeTokenGroup [
            w("group"),
            r("mint"),
            s("mint_authority"),
        ] { update_authority: OrZero<Pubkey> as Null, max_size: u64 }
        [108, 37, 171, 143, 248, 30, 18, 110] => UpdateTokenGroupMaxSize [
            w("group"),
            s("update_authority"),
        ] { max_size: u64 }
        [161, 105, 88, 1, 237, 221, 216, 203] => UpdateTokenGroupAuthority [
            w("group"),
            s("update_authority"),
        ] { new_authority: OrZero<Pubkey> as Null }
        [152, 32, 222, 176, 223, 237, 116, 134] => InitializeTokenGroupMember [
            w("member"),
            r("member_mint"),
            s("member_mint_authority"),
            w("group"),
            s("group_update_authority"),
        ] {}
        [210, 225, 30, 162, 88, 184, 77, 141] => InitializeTokenMetadata [
            w("metadata"),
            s("update_authority"),
            r("mint"),
            s("mint_authority"),
        ] { name: ShortText<'a>, symbol: ShortText<'a>, uri: ShortText<'a> }
        [221, 233, 49, 45, 181, 202, 220, 200] => UpdateTokenMetadataField [
            w("metadata"),
            s("update_authority"),
        ] { field: MetadataField<'a>, value: ShortText<'a> }
        [234, 18, 32, 56, 89, 141, 37, 181] => RemoveTokenMetadataKey [
            w("metadata"),
            s("update_authority"),
        ] { idempotent: bool, key: ShortText<'a> }
        [215, 228, 166, 228, 84, 100, 86, 123] => UpdateTokenMetadataAuthority [
            w("metadata"),
            s("update_authority"),
        ] { new_authority: OrZero<Pubkey> as Null }
        [250, 166, 180, 250, 13, 12, 184, 70] => EmitTokenMetadata [r("metadata")] {
            start: Option<u64>, end: Option<u64>
        }
    }
}

/// A field of token metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetadataField<'a> {
    /// The token's name.
    Name,
    /// Its symbol.
    Symbol,
    /// Where its metadata are.
    Uri,
    /// The field of this name.
    Key(ShortText<'a>),
}

impl<'a> Wire<'a> for MetadataField<'a> {
    const KIND: Kind = Kind::Enum(
        Lens::One,
        Ref::Static(&[
            Variant::unit("name"),
            Variant::unit("symbol"),
            Variant::unit("uri"),
            Variant {
                name: Name::Borrowed("key"),
                fields: Ref::Static(&[Field {
                    name: Name::Borrowed("key"),
                    kind: ShortText::KIND,
                    show: Show::Plain,
                }]),
            },
        ]),
    );

    fn read(it: &mut Reader<'a>) -> Result<Self, Malformed> {
        match it.u8()? {
            0 => Ok(Self::Name),
            1 => Ok(Self::Symbol),
            2 => Ok(Self::Uri),
            3 => ShortText::read(it).map(Self::Key),
            _ => Err(Malformed),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Name => out.push(0),
            Self::Symbol => out.push(1),
            Self::Uri => out.push(2),
            Self::Key(key) => {
                out.push(3);
                key.write(out);
            }
        }
    }
}
