//! The table of Token-2022's extensions: their numbers, names and states.

/// An extension. Its row's index is its number.
pub(super) struct Row {
    /// The name of its type, as instructions show it.
    pub(super) kind: &'static str,
    /// The name under which accounts show it.
    pub(super) name: &'static str,
    /// The layout of its state; `None` if it has none.
    pub(super) state: Option<&'static str>,
    /// The size of its state in bytes; `None` if it varies.
    pub(super) size: Option<usize>,
}

const fn row(
    kind: &'static str,
    name: &'static str,
    state: Option<&'static str>,
    size: Option<usize>,
) -> Row {
    Row { kind, name, state, size }
}

/// The layout of transfer fees, which the text `FEE` in a row stands for.
pub(super) const FEE: &str = "withheldAmount:u64 olderTransferFee{ epoch:u64 maximumFee:u64 transferFeeBasisPoints:u16 } newerTransferFee{ epoch:u64 maximumFee:u64 transferFeeBasisPoints:u16 }";

/// The number of the interest-bearing extension.
pub(super) const INTEREST: u16 = 10;
/// The number of the scaled-amount extension.
pub(super) const SCALED: u16 = 25;

/// Every extension.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("uninitialized", "uninitialized", None, Some(0)),
    row("transferFeeConfig", "transferFeeConfig", Some("transferFeeConfigAuthority:0|key withdrawWithheldAuthority:0|key FEE"), Some(108)),
    row("transferFeeAmount", "transferFeeAmount", Some("withheldAmount:u64"), Some(8)),
    row("mintCloseAuthority", "mintCloseAuthority", Some("closeAuthority:0|key"), Some(32)),
    row("confidentialTransferMint", "confidentialTransferMint", Some("authority:0|key autoApproveNewAccounts:bool auditorElgamalPubkey:0|b32"), Some(65)),
    row("confidentialTransferAccount", "confidentialTransferAccount", Some("approved:bool elgamalPubkey:b32 pendingBalanceLo:b64 pendingBalanceHi:b64 availableBalance:b64 decryptableAvailableBalance:b36 allowConfidentialCredits:bool allowNonConfidentialCredits:bool pendingBalanceCreditCounter:u64 maximumPendingBalanceCreditCounter:u64 expectedPendingBalanceCreditCounter:u64 actualPendingBalanceCreditCounter:u64"), Some(295)),
    row("defaultAccountState", "defaultAccountState", Some("accountState:enum1(uninitialized,initialized,frozen)"), Some(1)),
    row("immutableOwner", "immutableOwner", None, Some(0)),
    row("memoTransfer", "memoTransfer", Some("requireIncomingTransferMemos:bool"), Some(1)),
    row("nonTransferable", "nonTransferable", None, Some(0)),
    row("interestBearingConfig", "interestBearingConfig", Some("rateAuthority:0|key initializationTimestamp:i64 preUpdateAverageRate:i16 lastUpdateTimestamp:i64 currentRate:i16"), Some(52)),
    row("cpiGuard", "cpiGuard", Some("lockCpi:bool"), Some(1)),
    row("permanentDelegate", "permanentDelegate", Some("delegate:0|key"), Some(32)),
    row("nonTransferableAccount", "nonTransferableAccount", None, Some(0)),
    row("transferHook", "transferHook", Some("authority:0|key programId:0|key"), Some(64)),
    row("transferHookAccount", "transferHookAccount", Some("transferring:bool"), Some(1)),
    row("confidentialTransferFeeConfig", "confidentialTransferFeeConfig", Some("authority:0|key withdrawWithheldAuthorityElgamalPubkey:b32 harvestToMintEnabled:bool withheldAmount:b64"), Some(129)),
    row("confidentialTransferFeeAmount", "confidentialTransferFeeAmount", Some("withheldAmount:b64"), Some(64)),
    row("metadataPointer", "metadataPointer", Some("authority:0|key metadataAddress:0|key"), Some(64)),
    row("tokenMetadata", "tokenMetadata", Some("updateAuthority:0|key mint:key name:str4 symbol:str4 uri:str4 additionalMetadata:pairs"), None),
    row("groupPointer", "groupPointer", Some("authority:0|key groupAddress:0|key"), Some(64)),
    row("tokenGroup", "tokenGroup", Some("updateAuthority:0|key mint:key size:u64 maxSize:u64"), Some(80)),
    row("groupMemberPointer", "groupMemberPointer", Some("authority:0|key memberAddress:0|key"), Some(64)),
    row("tokenGroupMember", "tokenGroupMember", Some("mint:key group:key memberNumber:u64"), Some(72)),
    row("confidentialMintBurn", "confidentialMintBurn", Some("confidentialSupply:b64 decryptableSupply:b36 supplyElgamalPubkey:b32 pendingBurn:b64"), Some(196)),
    row("scaledUiAmount", "scaledUiAmountConfig", Some("authority:0|key multiplier:sf64 newMultiplierEffectiveTimestamp:i64 newMultiplier:sf64"), Some(56)),
    row("pausable", "pausableConfig", Some("authority:0|key paused:bool"), Some(33)),
    row("pausableAccount", "pausableAccount", None, Some(0)),
    row("permissionedBurn", "permissionedBurnConfig", Some("authority:0|key"), Some(32)),
];

/// Returns the name of an extension's type.
pub(super) fn type_name(number: u16) -> Option<&'static str> {
    ROWS.get(usize::from(number)).map(|row| row.kind)
}
