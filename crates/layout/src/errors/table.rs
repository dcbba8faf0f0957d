//! The numbers and names of custom errors, a table for each program or interface.

use super::Table;

/// Source: solana-system-interface 3.3.0: src/error.rs, `SystemError`.
pub(super) const SYSTEM: Table = Table {
    name: "system",
    source: "solana-system-interface 3.3.0: src/error.rs",
    ranges: &[(
        0,
        &[
            "AccountAlreadyInUse",
            "ResultWithNegativeLamports",
            "InvalidProgramId",
            "InvalidAccountDataLength",
            "MaxSeedLengthExceeded",
            "AddressWithSeedMismatch",
            "NonceNoRecentBlockhashes",
            "NonceBlockhashNotExpired",
            "NonceUnexpectedBlockhashValue",
        ],
    )],
};

/// Source: solana-vote-interface 7.3.0: src/error.rs, `VoteError`.
pub(super) const VOTE: Table = Table {
    name: "vote",
    source: "solana-vote-interface 7.3.0: src/error.rs",
    ranges: &[(
        0,
        &[
            "VoteTooOld",
            "SlotsMismatch",
            "SlotHashMismatch",
            "EmptySlots",
            "TimestampTooOld",
            "TooSoonToReauthorize",
            "LockoutConflict",
            "NewVoteStateLockoutMismatch",
            "SlotsNotOrdered",
            "ConfirmationsNotOrdered",
            "ZeroConfirmations",
            "ConfirmationTooLarge",
            "RootRollBack",
            "ConfirmationRollBack",
            "SlotSmallerThanRoot",
            "TooManyVotes",
            "VotesTooOldAllFiltered",
            "RootOnDifferentFork",
            "ActiveVoteAccountClose",
            "CommissionUpdateTooLate",
            "AssertionFailed",
        ],
    )],
};

/// Source: solana-stake-interface 5.1.1: src/error.rs, `StakeError`.
pub(super) const STAKE: Table = Table {
    name: "stake",
    source: "solana-stake-interface 5.1.1: src/error.rs",
    ranges: &[(
        0,
        &[
            "NoCreditsToRedeem",
            "LockupInForce",
            "AlreadyDeactivated",
            "TooSoonToRedelegate",
            "InsufficientStake",
            "MergeTransientStake",
            "MergeMismatch",
            "CustodianMissing",
            "CustodianSignatureMissing",
            "InsufficientReferenceVotes",
            "VoteAddressMismatch",
            "MinimumDelinquentEpochsForDeactivationNotMet",
            "InsufficientDelegation",
            "RedelegateTransientOrInactiveStake",
            "RedelegateToSameVoteAccount",
            "RedelegatedStakeMustFullyActivateBeforeDeactivationIsPermitted",
            "EpochRewardsActive",
        ],
    )],
};

/// Source: solana-precompile-error 3.0.0: src/lib.rs, `PrecompileError`.
pub(super) const PRECOMPILE: Table = Table {
    name: "precompile",
    source: "solana-precompile-error 3.0.0: src/lib.rs",
    ranges: &[(
        0,
        &[
            "InvalidPublicKey",
            "InvalidRecoveryId",
            "InvalidSignature",
            "InvalidDataOffsets",
            "InvalidInstructionDataSize",
        ],
    )],
};

/// Source: spl-token-interface 3.0.0: src/error.rs, `TokenError`.
pub(super) const TOKEN: Table = Table {
    name: "token",
    source: "spl-token-interface 3.0.0: src/error.rs",
    ranges: &[(0, TOKEN_ERRORS)],
};

/// The errors that the token program and Token-2022 share.
const TOKEN_ERRORS: &[&str] = &[
    "NotRentExempt",
    "InsufficientFunds",
    "InvalidMint",
    "MintMismatch",
    "OwnerMismatch",
    "FixedSupply",
    "AlreadyInUse",
    "InvalidNumberOfProvidedSigners",
    "InvalidNumberOfRequiredSigners",
    "UninitializedState",
    "NativeNotSupported",
    "NonNativeHasBalance",
    "InvalidInstruction",
    "InvalidState",
    "Overflow",
    "AuthorityTypeNotSupported",
    "MintCannotFreeze",
    "AccountFrozen",
    "MintDecimalsMismatch",
    "NonNativeNotSupported",
];

/// Source: spl-token-2022-interface 3.1.2: src/error.rs, `TokenError`.
pub(super) const TOKEN_2022: Table = Table {
    name: "token-2022",
    source: "spl-token-2022-interface 3.1.2: src/error.rs",
    ranges: &[
        (0, TOKEN_ERRORS),
        (
            20,
            &[
                "ExtensionTypeMismatch",
                "ExtensionBaseMismatch",
                "ExtensionAlreadyInitialized",
                "ConfidentialTransferAccountHasBalance",
                "ConfidentialTransferAccountNotApproved",
                "ConfidentialTransferDepositsAndTransfersDisabled",
                "ConfidentialTransferElGamalPubkeyMismatch",
                "ConfidentialTransferBalanceMismatch",
                "MintHasSupply",
                "NoAuthorityExists",
                "TransferFeeExceedsMaximum",
                "MintRequiredForTransfer",
                "FeeMismatch",
                "FeeParametersMismatch",
                "ImmutableOwner",
                "AccountHasWithheldTransferFees",
                "NoMemo",
                "NonTransferable",
                "NonTransferableNeedsImmutableOwnership",
                "MaximumPendingBalanceCreditCounterExceeded",
                "MaximumDepositAmountExceeded",
                "CpiGuardSettingsLocked",
                "CpiGuardTransferBlocked",
                "CpiGuardBurnBlocked",
                "CpiGuardCloseAccountBlocked",
                "CpiGuardApproveBlocked",
                "CpiGuardSetAuthorityBlocked",
                "CpiGuardOwnerChangeBlocked",
                "ExtensionNotFound",
                "NonConfidentialTransfersDisabled",
                "ConfidentialTransferFeeAccountHasWithheldFee",
                "InvalidExtensionCombination",
                "InvalidLengthForAlloc",
                "AccountDecryption",
                "ProofGeneration",
                "InvalidProofInstructionOffset",
                "HarvestToMintDisabled",
                "SplitProofContextStateAccountsNotSupported",
                "NotEnoughProofContextStateAccounts",
                "MalformedCiphertext",
                "CiphertextArithmeticFailed",
                "PedersenCommitmentMismatch",
                "RangeProofLengthMismatch",
                "IllegalBitLength",
                "FeeCalculation",
                "IllegalMintBurnConversion",
                "InvalidScale",
                "MintPaused",
                "PendingBalanceNonZero",
            ],
        ),
    ],
};

/// Source: spl-associated-token-account 7.0.0: src/error.rs, `AssociatedTokenAccountError`.
pub(super) const ASSOCIATED: Table = Table {
    name: "associated-token",
    source: "spl-associated-token-account 7.0.0: src/error.rs",
    ranges: &[(0, &["InvalidOwner"])],
};

/// Source: spl-token-metadata-interface 1.0.1: src/error.rs, `TokenMetadataError`.
pub(super) const TOKEN_METADATA: Table = Table {
    name: "token metadata interface",
    source: "spl-token-metadata-interface 1.0.1: src/error.rs",
    ranges: &[(
        901_952_957,
        &[
            "IncorrectAccount",
            "MintHasNoMintAuthority",
            "IncorrectMintAuthority",
            "IncorrectUpdateAuthority",
            "ImmutableMetadata",
            "KeyNotFound",
        ],
    )],
};

/// Source: spl-token-group-interface 0.7.2: src/error.rs, `TokenGroupError`.
pub(super) const TOKEN_GROUP: Table = Table {
    name: "token group interface",
    source: "spl-token-group-interface 0.7.2: src/error.rs",
    ranges: &[(
        3_406_457_176,
        &[
            "SizeExceedsNewMaxSize",
            "SizeExceedsMaxSize",
            "ImmutableGroup",
            "IncorrectMintAuthority",
            "IncorrectUpdateAuthority",
            "MemberAccountIsGroupAccount",
        ],
    )],
};

/// Source: spl-transfer-hook-interface 2.1.0: src/error.rs, `TransferHookError`.
pub(super) const TRANSFER_HOOK: Table = Table {
    name: "transfer hook interface",
    source: "spl-transfer-hook-interface 2.1.0: src/error.rs",
    ranges: &[(
        2_110_272_652,
        &[
            "IncorrectAccount",
            "MintHasNoMintAuthority",
            "IncorrectMintAuthority",
            "ProgramCalledOutsideOfTransfer",
        ],
    )],
};

/// Source: spl-tlv-account-resolution 0.11.1: src/error.rs, `AccountResolutionError`.
pub(super) const ACCOUNT_RESOLUTION: Table = Table {
    name: "tlv account resolution",
    source: "spl-tlv-account-resolution 0.11.1: src/error.rs",
    ranges: &[(
        2_724_315_840,
        &[
            "IncorrectAccount",
            "NotEnoughAccounts",
            "TlvUninitialized",
            "TlvInitialized",
            "TooManyPubkeys",
            "InvalidPubkey",
            "AccountTypeNotAccountMeta",
            "SeedConfigsTooLarge",
            "NotEnoughBytesForSeed",
            "InvalidBytesForSeed",
            "InvalidSeedConfig",
            "InstructionDataTooSmall",
            "AccountNotFound",
            "CalculationFailure",
            "AccountDataNotFound",
            "AccountDataTooSmall",
            "AccountFetchFailed",
            "NotEnoughBytesForPubkeyData",
            "InvalidBytesForPubkeyData",
            "InvalidPubkeyDataConfig",
        ],
    )],
};

/// Source: anchor-lang-error 1.2.2: src/lib.rs, `ErrorCode`.
pub(super) const ANCHOR: Table = Table {
    name: "anchor",
    source: "anchor-lang-error 1.2.2: src/lib.rs",
    ranges: &[
        (
            100,
            &[
                "InstructionMissing",
                "InstructionFallbackNotFound",
                "InstructionDidNotDeserialize",
                "InstructionDidNotSerialize",
            ],
        ),
        (1000, &["IdlInstructionStub", "IdlInstructionInvalidProgram", "IdlAccountNotEmpty"]),
        (1500, &["EventInstructionStub"]),
        (
            2000,
            &[
                "ConstraintMut",
                "ConstraintHasOne",
                "ConstraintSigner",
                "ConstraintRaw",
                "ConstraintOwner",
                "ConstraintRentExempt",
                "ConstraintSeeds",
                "ConstraintExecutable",
                "ConstraintState",
                "ConstraintAssociated",
                "ConstraintAssociatedInit",
                "ConstraintClose",
                "ConstraintAddress",
                "ConstraintZero",
                "ConstraintTokenMint",
                "ConstraintTokenOwner",
                "ConstraintMintMintAuthority",
                "ConstraintMintFreezeAuthority",
                "ConstraintMintDecimals",
                "ConstraintSpace",
                "ConstraintAccountIsNone",
                "ConstraintTokenTokenProgram",
                "ConstraintMintTokenProgram",
                "ConstraintAssociatedTokenTokenProgram",
                "ConstraintMintGroupPointerExtension",
                "ConstraintMintGroupPointerExtensionAuthority",
                "ConstraintMintGroupPointerExtensionGroupAddress",
                "ConstraintMintGroupMemberPointerExtension",
                "ConstraintMintGroupMemberPointerExtensionAuthority",
                "ConstraintMintGroupMemberPointerExtensionMemberAddress",
                "ConstraintMintMetadataPointerExtension",
                "ConstraintMintMetadataPointerExtensionAuthority",
                "ConstraintMintMetadataPointerExtensionMetadataAddress",
                "ConstraintMintCloseAuthorityExtension",
                "ConstraintMintCloseAuthorityExtensionAuthority",
                "ConstraintMintPermanentDelegateExtension",
                "ConstraintMintPermanentDelegateExtensionDelegate",
                "ConstraintMintTransferHookExtension",
                "ConstraintMintTransferHookExtensionAuthority",
                "ConstraintMintTransferHookExtensionProgramId",
                "ConstraintDuplicateMutableAccount",
                "AccountAlreadyMigrated",
                "AccountNotMigrated",
                "ConstraintMintPausableExtension",
                "ConstraintMintPausableAuthority",
            ],
        ),
        (
            2500,
            &[
                "RequireViolated",
                "RequireEqViolated",
                "RequireKeysEqViolated",
                "RequireNeqViolated",
                "RequireKeysNeqViolated",
                "RequireGtViolated",
                "RequireGteViolated",
            ],
        ),
        (
            3000,
            &[
                "AccountDiscriminatorAlreadySet",
                "AccountDiscriminatorNotFound",
                "AccountDiscriminatorMismatch",
                "AccountDidNotDeserialize",
                "AccountDidNotSerialize",
                "AccountNotEnoughKeys",
                "AccountNotMutable",
                "AccountOwnedByWrongProgram",
                "InvalidProgramId",
                "InvalidProgramExecutable",
                "AccountNotSigner",
                "AccountNotSystemOwned",
                "AccountNotInitialized",
                "AccountNotProgramData",
                "AccountNotAssociatedTokenAccount",
                "AccountSysvarMismatch",
                "AccountReallocExceedsLimit",
                "AccountDuplicateReallocs",
            ],
        ),
        (
            4100,
            &[
                "DeclaredProgramIdMismatch",
                "TryingToInitPayerAsProgramAccount",
                "InvalidNumericConversion",
            ],
        ),
        (5000, &["Deprecated"]),
    ],
};
