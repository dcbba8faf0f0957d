//! Token-2022's extensions: their numbers, names and states.

use solana_pubkey::Pubkey;

use super::AccountState;
use crate::{
    declare::layout,
    kind::{Field, Kind, Lens, Name, Ref, Show, Variant},
    wire::{Fixed, Malformed, OrZero, Reader, ShortText, Wire},
};

/// An extension of mints or token accounts. Its row's index is its number.
#[derive(Clone, Copy, Debug)]
pub struct Extension {
    /// The name of its type, as instructions show it.
    pub kind: &'static str,
    /// The name under which accounts show it.
    pub name: &'static str,
    /// The fields of its state; `None` if it has none.
    pub state: Option<&'static [Field]>,
    /// The size of its state in bytes; `None` if it varies.
    pub size: Option<usize>,
}

layout! {
    /// The fee of transfers from an epoch on.
    TransferFee, TransferFeeAt, TRANSFER_FEE {
        /// The epoch.
        epoch: u64,
        /// The most that is paid for a transfer, in the smallest unit.
        maximum_fee: u64,
        /// The fee, in hundredths of a percent.
        transfer_fee_basis_points: u16,
    }
}

layout! {
    /// The state of a mint whose transfers cost a fee.
    TransferFeeConfig, TransferFeeConfigAt, TRANSFER_FEE_CONFIG {
        /// Who may set the fee.
        transfer_fee_config_authority: OrZero<Pubkey> as Null,
        /// Who may withdraw fees.
        withdraw_withheld_authority: OrZero<Pubkey> as Null,
        /// The fees that the mint holds, in the smallest unit.
        withheld_amount: u64,
        /// The fee before the newest change.
        older_transfer_fee: TransferFee,
        /// The fee after it.
        newer_transfer_fee: TransferFee,
    }
}

layout! {
    /// The fees that a token account holds.
    TransferFeeAmount, TransferFeeAmountAt, TRANSFER_FEE_AMOUNT {
        /// As many, in the smallest unit.
        withheld_amount: u64,
    }
}

layout! {
    /// Who may close a mint.
    MintCloseAuthority, MintCloseAuthorityAt, MINT_CLOSE_AUTHORITY {
        /// The authority.
        close_authority: OrZero<Pubkey> as Null,
    }
}

layout! {
    /// The state of a mint with confidential transfers.
    ConfidentialTransferMint, ConfidentialTransferMintAt, CONFIDENTIAL_TRANSFER_MINT {
        /// Who may change it, and approve accounts.
        authority: OrZero<Pubkey> as Null,
        /// Whether new accounts need no approval.
        auto_approve_new_accounts: bool,
        /// Who can decrypt amounts.
        auditor_elgamal_pubkey: OrZero<[u8; 32]> as Null,
    }
}

layout! {
    /// The state of an account with confidential transfers.
    ConfidentialTransferAccount, ConfidentialTransferAccountAt, CONFIDENTIAL_TRANSFER_ACCOUNT {
        /// Whether it is approved.
        approved: bool,
        /// The key by which amounts are encrypted.
        elgamal_pubkey: [u8; 32],
        /// The low bits of what was received.
        pending_balance_lo: [u8; 64],
        /// Its high bits.
        pending_balance_hi: [u8; 64],
        /// What can be transferred.
        available_balance: [u8; 64],
        /// The same, for the owner.
        decryptable_available_balance: [u8; 36],
        /// Whether confidential amounts are received.
        allow_confidential_credits: bool,
        /// Whether others are received.
        allow_non_confidential_credits: bool,
        /// How many amounts were received.
        pending_balance_credit_counter: u64,
        /// How many may be.
        maximum_pending_balance_credit_counter: u64,
        /// How many the owner knew of when they were applied.
        expected_pending_balance_credit_counter: u64,
        /// How many there were then.
        actual_pending_balance_credit_counter: u64,
    }
}

layout! {
    /// The state in which accounts of a mint begin.
    DefaultAccountState, DefaultAccountStateAt, DEFAULT_ACCOUNT_STATE {
        /// The state.
        account_state: AccountState as Lower,
    }
}

layout! {
    /// Whether an account accepts transfers with a memo alone.
    MemoTransfer, MemoTransferAt, MEMO_TRANSFER {
        /// Whether it does.
        require_incoming_transfer_memos: bool,
    }
}

layout! {
    /// The interest of a mint.
    InterestBearingConfig, InterestBearingConfigAt, INTEREST_BEARING_CONFIG {
        /// Who may change the rate.
        rate_authority: OrZero<Pubkey> as Null,
        /// When interest began, in seconds since 1970.
        initialization_timestamp: i64,
        /// The average rate before the newest change, in hundredths of a percent a year.
        pre_update_average_rate: i16,
        /// When that was, in seconds since 1970.
        last_update_timestamp: i64,
        /// The rate since, in hundredths of a percent a year.
        current_rate: i16,
    }
}

layout! {
    /// Whether an account is guarded from what programs do in its owner's name.
    CpiGuard, CpiGuardAt, CPI_GUARD {
        /// Whether it is.
        lock_cpi: bool,
    }
}

layout! {
    /// Who may transfer and burn the tokens of all accounts of a mint.
    PermanentDelegate, PermanentDelegateAt, PERMANENT_DELEGATE {
        /// The delegate.
        delegate: OrZero<Pubkey> as Null,
    }
}

layout! {
    /// The program that transfers of a mint invoke.
    TransferHook, TransferHookAt, TRANSFER_HOOK {
        /// Who may change it.
        authority: OrZero<Pubkey> as Null,
        /// The program.
        program_id: OrZero<Pubkey> as Null,
    }
}

layout! {
    /// Whether an account is part of a transfer at the moment.
    TransferHookAccount, TransferHookAccountAt, TRANSFER_HOOK_ACCOUNT {
        /// Whether it is.
        transferring: bool,
    }
}

layout! {
    /// The confidential fees of a mint.
    ConfidentialTransferFeeConfig, ConfidentialTransferFeeConfigAt, CONFIDENTIAL_TRANSFER_FEE_CONFIG {
        /// Who may change it.
        authority: OrZero<Pubkey> as Null,
        /// The key by which fees are encrypted.
        withdraw_withheld_authority_elgamal_pubkey: [u8; 32],
        /// Whether fees of accounts may be moved to the mint.
        harvest_to_mint_enabled: bool,
        /// The fees that the mint holds.
        withheld_amount: [u8; 64],
    }
}

layout! {
    /// The confidential fees of an account.
    ConfidentialTransferFeeAmount, ConfidentialTransferFeeAmountAt, CONFIDENTIAL_TRANSFER_FEE_AMOUNT {
        /// The fees that the account holds.
        withheld_amount: [u8; 64],
    }
}

layout! {
    /// Where the metadata of a mint are.
    MetadataPointer, MetadataPointerAt, METADATA_POINTER {
        /// Who may change it.
        authority: OrZero<Pubkey> as Null,
        /// The account.
        metadata_address: OrZero<Pubkey> as Null,
    }
}

layout! {
    /// Where the group of a mint is.
    GroupPointer, GroupPointerAt, GROUP_POINTER {
        /// Who may change it.
        authority: OrZero<Pubkey> as Null,
        /// The account.
        group_address: OrZero<Pubkey> as Null,
    }
}

layout! {
    /// A group of mints.
    TokenGroup, TokenGroupAt, TOKEN_GROUP {
        /// Who may change it.
        update_authority: OrZero<Pubkey> as Null,
        /// Its mint.
        mint: Pubkey,
        /// How many members it has.
        size: u64,
        /// How many it may have.
        max_size: u64,
    }
}

layout! {
    /// Where the membership of a mint is.
    GroupMemberPointer, GroupMemberPointerAt, GROUP_MEMBER_POINTER {
        /// Who may change it.
        authority: OrZero<Pubkey> as Null,
        /// The account.
        member_address: OrZero<Pubkey> as Null,
    }
}

layout! {
    /// A member of a group of mints.
    TokenGroupMember, TokenGroupMemberAt, TOKEN_GROUP_MEMBER {
        /// Its mint.
        mint: Pubkey,
        /// The group.
        group: Pubkey,
        /// Its number in the group.
        member_number: u64,
    }
}

layout! {
    /// The state of a mint whose supply is confidential.
    ConfidentialMintBurn, ConfidentialMintBurnAt, CONFIDENTIAL_MINT_BURN {
        /// The supply.
        confidential_supply: [u8; 64],
        /// The same, for who knows its key.
        decryptable_supply: [u8; 36],
        /// The key by which it is encrypted.
        supply_elgamal_pubkey: [u8; 32],
        /// What was burned and is not subtracted yet.
        pending_burn: [u8; 64],
    }
}

layout! {
    /// By what the amounts of a mint are multiplied when they are shown.
    ScaledUiAmount, ScaledUiAmountAt, SCALED_UI_AMOUNT {
        /// Who may change it.
        authority: OrZero<Pubkey> as Null,
        /// The multiplier.
        multiplier: f64 as Text,
        /// From when on the new multiplier holds, in seconds since 1970.
        new_multiplier_effective_timestamp: i64,
        /// The new multiplier.
        new_multiplier: f64 as Text,
    }
}

layout! {
    /// Whether the tokens of a mint can be moved.
    Pausable, PausableAt, PAUSABLE {
        /// Who may change that.
        authority: OrZero<Pubkey> as Null,
        /// Whether they cannot.
        paused: bool,
    }
}

layout! {
    /// Who must sign when tokens of a mint are burned.
    PermissionedBurn, PermissionedBurnAt, PERMISSIONED_BURN {
        /// The authority.
        authority: OrZero<Pubkey> as Null,
    }
}

/// The fields of token metadata, whose size varies.
const TOKEN_METADATA: &[Field] = &[
    Field {
        name: Name::Borrowed("update_authority"),
        kind: OrZero::<Pubkey>::KIND,
        show: Show::Null,
    },
    Field { name: Name::Borrowed("mint"), kind: Kind::Key, show: Show::Plain },
    Field { name: Name::Borrowed("name"), kind: ShortText::KIND, show: Show::Plain },
    Field { name: Name::Borrowed("symbol"), kind: ShortText::KIND, show: Show::Plain },
    Field { name: Name::Borrowed("uri"), kind: ShortText::KIND, show: Show::Plain },
    Field {
        name: Name::Borrowed("additional_metadata"),
        kind: Kind::List(
            Some(Lens::Four),
            Ref::Static(&Kind::Array(2, Ref::Static(&Kind::Text(Lens::Four)))),
        ),
        show: Show::Plain,
    },
];

macro_rules! extensions {
    ($($name:ident = $kind:literal, $shown:literal $(, $state:ident)? $(, [$fields:ident])?;)*) => {
        /// The number of an extension.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "the names are those of the protocol")]
        #[repr(u16)]
        pub enum ExtensionType { $($name,)* }

        impl ExtensionType {
            const ALL: &'static [Self] = &[$(Self::$name,)*];
        }

        /// Every extension.
        pub const EXTENSIONS: &[Extension] = &[$({
            let it = Extension { kind: $kind, name: $shown, state: None, size: Some(0) };
            $(let it = Extension { state: Some($state::FIELDS), size: Some($state::BYTES), ..it };)?
            $(let it = Extension { state: Some($fields), size: None, ..it };)?
            it
        },)*];

        const TYPES: &[Variant] = &[$(Variant::unit($kind),)*];
    };
}

extensions! {
    Uninitialized = "uninitialized", "uninitialized";
    TransferFeeConfig = "transferFeeConfig", "transferFeeConfig", TransferFeeConfig;
    TransferFeeAmount = "transferFeeAmount", "transferFeeAmount", TransferFeeAmount;
    MintCloseAuthority = "mintCloseAuthority", "mintCloseAuthority", MintCloseAuthority;
    ConfidentialTransferMint = "confidentialTransferMint", "confidentialTransferMint", ConfidentialTransferMint;
    ConfidentialTransferAccount = "confidentialTransferAccount", "confidentialTransferAccount", ConfidentialTransferAccount;
    DefaultAccountState = "defaultAccountState", "defaultAccountState", DefaultAccountState;
    ImmutableOwner = "immutableOwner", "immutableOwner";
    MemoTransfer = "memoTransfer", "memoTransfer", MemoTransfer;
    NonTransferable = "nonTransferable", "nonTransferable";
    InterestBearingConfig = "interestBearingConfig", "interestBearingConfig", InterestBearingConfig;
    CpiGuard = "cpiGuard", "cpiGuard", CpiGuard;
    PermanentDelegate = "permanentDelegate", "permanentDelegate", PermanentDelegate;
    NonTransferableAccount = "nonTransferableAccount", "nonTransferableAccount";
    TransferHook = "transferHook", "transferHook", TransferHook;
    TransferHookAccount = "transferHookAccount", "transferHookAccount", TransferHookAccount;
    ConfidentialTransferFeeConfig = "confidentialTransferFeeConfig", "confidentialTransferFeeConfig", ConfidentialTransferFeeConfig;
    ConfidentialTransferFeeAmount = "confidentialTransferFeeAmount", "confidentialTransferFeeAmount", ConfidentialTransferFeeAmount;
    MetadataPointer = "metadataPointer", "metadataPointer", MetadataPointer;
    TokenMetadata = "tokenMetadata", "tokenMetadata", [TOKEN_METADATA];
    GroupPointer = "groupPointer", "groupPointer", GroupPointer;
    TokenGroup = "tokenGroup", "tokenGroup", TokenGroup;
    GroupMemberPointer = "groupMemberPointer", "groupMemberPointer", GroupMemberPointer;
    TokenGroupMember = "tokenGroupMember", "tokenGroupMember", TokenGroupMember;
    ConfidentialMintBurn = "confidentialMintBurn", "confidentialMintBurn", ConfidentialMintBurn;
    ScaledUiAmount = "scaledUiAmount", "scaledUiAmountConfig", ScaledUiAmount;
    Pausable = "pausable", "pausableConfig", Pausable;
    PausableAccount = "pausableAccount", "pausableAccount";
    PermissionedBurn = "permissionedBurn", "permissionedBurnConfig", PermissionedBurn;
}

impl ExtensionType {
    /// Returns the extension of a number.
    #[must_use]
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Returns its row.
    #[must_use]
    pub fn row(self) -> &'static Extension {
        &EXTENSIONS[self as usize]
    }
}

/// Extensions that fill the remaining bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtensionTypes(pub Vec<ExtensionType>);

impl<'a> Wire<'a> for ExtensionTypes {
    const KIND: Kind = Kind::List(None, Ref::Static(&Kind::Enum(Lens::Two, Ref::Static(TYPES))));

    fn read(it: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut types = Vec::new();
        while !it.remaining().is_empty() {
            types.push(ExtensionType::of(it.u16()?).ok_or(Malformed)?);
        }
        Ok(Self(types))
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|it| (*it as u16).write(out));
    }
}
