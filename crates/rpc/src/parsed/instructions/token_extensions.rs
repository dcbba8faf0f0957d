//! Instructions of Token-2022's extensions, and of its metadata and groups.

use super::row::{Row, row};

pub(super) const TRANSFER_FEE: &[Row] = &[
    row(
        &[26, 0],
        "initializeTransferFeeConfig",
        "mint",
        "transferFeeConfigAuthority:?key withdrawWithheldAuthority:?key transferFeeBasisPoints:u16 maximumFee:u64",
    ),
    row(
        &[26, 1],
        "transferCheckedWithFee",
        "source mint destination @authority",
        "tokenAmount:amount _:u8 feeAmount:fee",
    ),
    row(
        &[26, 2],
        "withdrawWithheldTokensFromMint",
        "mint feeRecipient @withdrawWithheldAuthority",
        "",
    ),
    row(
        &[26, 3],
        "withdrawWithheldTokensFromAccounts",
        "mint feeRecipient @withdrawWithheldAuthority ~sourceAccounts",
        "#:u8",
    ),
    row(&[26, 4], "harvestWithheldTokensToMint", "mint *sourceAccounts", ""),
    row(
        &[26, 5],
        "setTransferFee",
        // The lower-case letter is agave's.
        "mint @transferFeeConfigAuthority/multisigtransferFeeConfigAuthority",
        "transferFeeBasisPoints:u16 maximumFee:u64",
    ),
];

pub(super) const CONFIDENTIAL: &[Row] = &[
    row(
        &[27, 0],
        "initializeConfidentialTransferMint",
        "mint",
        "authority:0?key autoApproveNewAccounts:bool auditorElGamalPubkey:0|b32",
    ),
    row(
        &[27, 1],
        "updateConfidentialTransferMint",
        "mint confidentialTransferMintAuthority",
        "autoApproveNewAccounts:bool auditorElGamalPubkey:0|b32",
    ),
    row(
        &[27, 2],
        "configureConfidentialTransferAccount",
        "=4 account mint ^recordAccount @owner",
        "decryptableZeroBalance:b36 maximumPendingBalanceCreditCounter:u64 proofInstructionOffset:i8",
    ),
    row(
        &[27, 3],
        "approveConfidentialTransferAccount",
        "account mint confidentialTransferAuditorAuthority",
        "",
    ),
    row(
        &[27, 4],
        "emptyConfidentialTransferAccount",
        "=3 account ^recordAccount @owner",
        "proofInstructionOffset:i8",
    ),
    row(&[27, 5], "depositConfidentialTransfer", "account mint @owner", "amount:u64 decimals:u8"),
    row(
        &[27, 6],
        "withdrawConfidentialTransfer",
        "=4 account mint %equalityProof,rangeProof @owner",
        "amount:u64 decimals:u8 newDecryptableAvailableBalance:b36 equalityProofInstructionOffset:i8 rangeProofInstructionOffset:i8",
    ),
    row(
        &[27, 7],
        "confidentialTransfer",
        "=4 source mint destination %equalityProof,ciphertextValidityProof,rangeProof @owner",
        "newSourceDecryptableAvailableBalance:b36 _:skip128 equalityProofInstructionOffset:i8 ciphertextValidityProofInstructionOffset:i8 rangeProofInstructionOffset:i8",
    ),
    row(
        &[27, 8],
        "applyPendingConfidentialTransferBalance",
        "account @owner",
        "expectedPendingBalanceCreditCounter:u64 newDecryptableAvailableBalance:b36",
    ),
    row(&[27, 9], "enableConfidentialTransferConfidentialCredits", "account @owner", ""),
    row(&[27, 10], "disableConfidentialTransferConfidentialCredits", "account @owner", ""),
    row(&[27, 11], "enableConfidentialTransferNonConfidentialCredits", "account @owner", ""),
    row(&[27, 12], "disableConfidentialTransferNonConfidentialCredits", "account @owner", ""),
    row(
        &[27, 13],
        "confidentialTransferWithFee",
        "=4 source mint destination %equalityProof,transferAmountCiphertextValidityProof,feeCiphertextValidityProof,feeSigmaProof,rangeProof @owner",
        "newSourceDecryptableAvailableBalance:b36 _:skip128 equalityProofInstructionOffset:i8 transferAmountCiphertextValidityProofInstructionOffset:i8 feeSigmaProofInstructionOffset:i8 feeCiphertextValidityProofInstructionOffset:i8 rangeProofInstructionOffset:i8",
    ),
    row(&[27, 14], "configureConfidentialAccountWithRegistry", "account mint registry", ""),
    row(
        &[37, 0],
        "initializeConfidentialTransferFeeConfig",
        "mint",
        "authority:0?key withdrawWithheldAuthorityElGamalPubkey:b32",
    ),
    row(
        &[37, 1],
        "withdrawWithheldConfidentialTransferTokensFromMint",
        "=4 mint feeRecipient ^recordAccount @withdrawWithheldAuthority",
        "proofInstructionOffset:i8 newDecryptableAvailableBalance:b36",
    ),
    row(
        &[37, 2],
        "withdrawWithheldConfidentialTransferTokensFromAccounts",
        "mint feeRecipient ^proofAccount @withdrawWithheldAuthority ~sourceAccounts",
        "#:u8 proofInstructionOffset:i8 newDecryptableAvailableBalance:b36",
    ),
    row(&[37, 3], "harvestWithheldConfidentialTransferTokensToMint", "mint *sourceAccounts", ""),
    row(&[37, 4], "enableConfidentialTransferFeeHarvestToMint", "account @owner", ""),
    row(&[37, 5], "disableConfidentialTransferFeeHarvestToMint", "account @owner", ""),
    row(
        &[42, 0],
        "initializeConfidentialMintBurnMint",
        "mint",
        "supplyElGamalPubkey:b32 decryptableSupply:b36",
    ),
    row(
        &[42, 1],
        "rotateConfidentialMintBurnSupplyElGamalPubkey",
        "mint &proofAccount @owner",
        "newSupplyElGamalPubkey:b32 proofInstructionOffset:i8",
    ),
    row(
        &[42, 2],
        "updateConfidentialMintBurnDecryptableSupply",
        "mint @owner",
        "newDecryptableSupply:b36",
    ),
    row(
        &[42, 3],
        "confidentialMint",
        "=3 destination mint %equalityProof,ciphertextValidityProof,rangeProof @owner",
        "newDecryptableSupply:b36 _:skip128 equalityProofInstructionOffset:i8 ciphertextValidityProofInstructionOffset:i8 rangeProofInstructionOffset:i8",
    ),
    row(
        &[42, 4],
        "confidentialBurn",
        "=3 destination mint %equalityProof,ciphertextValidityProof,rangeProof @owner",
        "newDecryptableAvailableBalance:b36 _:skip128 equalityProofInstructionOffset:i8 ciphertextValidityProofInstructionOffset:i8 rangeProofInstructionOffset:i8",
    ),
    row(&[42, 5], "applyPendingBurn", "mint @owner", ""),
];

const STATE: &str = "accountState:enum1(uninitialized,initialized,frozen)";

pub(super) const OTHERS: &[Row] = &[
    row(&[25], "initializeMintCloseAuthority", "mint", "newAuthority:|key"),
    row(&[28, 0], "initializeDefaultAccountState", "mint", STATE),
    row(&[28, 1], "updateDefaultAccountState", "mint @freezeAuthority", STATE),
    row(&[29], "reallocate", "account payer systemProgram @owner", "extensionTypes:extensions"),
    row(&[30, 0], "enableRequiredMemoTransfers", "account @owner", ""),
    row(&[30, 1], "disableRequiredMemoTransfers", "account @owner", ""),
    row(&[31], "createNativeMint", "payer nativeMint systemProgram", ""),
    row(&[32], "initializeNonTransferableMint", "mint", ""),
    row(&[33, 0], "initializeInterestBearingConfig", "mint", "rateAuthority:0|key rate:i16"),
    row(&[33, 1], "updateInterestBearingConfigRate", "mint @rateAuthority", "newRate:i16"),
    row(&[34, 0], "enableCpiGuard", "account @owner", ""),
    row(&[34, 1], "disableCpiGuard", "account @owner", ""),
    row(&[35], "initializePermanentDelegate", "mint", "delegate:key"),
    row(&[36, 0], "initializeTransferHook", "mint", "authority:0?key programId:0?key"),
    row(&[36, 1], "updateTransferHook", "mint @authority", "programId:0?key"),
    row(&[39, 0], "initializeMetadataPointer", "mint", "authority:0?key metadataAddress:0?key"),
    row(&[39, 1], "updateMetadataPointer", "mint @authority", "metadataAddress:0?key"),
    row(&[40, 0], "initializeGroupPointer", "mint", "authority:0?key groupAddress:0?key"),
    row(&[40, 1], "updateGroupPointer", "mint @authority", "groupAddress:0?key"),
    row(&[41, 0], "initializeGroupMemberPointer", "mint", "authority:0?key memberAddress:0?key"),
    row(&[41, 1], "updateGroupMemberPointer", "mint @authority", "memberAddress:0?key"),
    row(&[43, 0], "initializeScaledUiAmountConfig", "mint", "authority:0|key multiplier:sf64"),
    row(
        &[43, 1],
        "updateMultiplier",
        "mint @authority",
        "newMultiplier:sf64 newMultiplierTimestamp:i64",
    ),
    row(&[44, 0], "initializePausableConfig", "mint", "authority:0|key"),
    row(&[44, 1], "pause", "mint @authority", ""),
    row(&[44, 2], "resume", "mint @authority", ""),
    row(&[46, 0], "initializePermissionedBurnConfig", "mint", "authority:key"),
    row(
        &[46, 1],
        "permissionedBurn",
        "account mint permissionedBurnAuthority @authority",
        "amount:su64",
    ),
    row(
        &[46, 2],
        "permissionedBurnChecked",
        "account mint permissionedBurnAuthority @authority",
        "tokenAmount:amount _:u8",
    ),
    // The tags of the interfaces for groups and metadata are the first bytes of the SHA-256 of
    // `spl_token_group_interface:initialize_token_group` and the like.
    row(
        &[121, 113, 108, 39, 54, 51, 0, 4],
        "initializeTokenGroup",
        "group mint mintAuthority",
        "updateAuthority:0|key maxSize:u64",
    ),
    row(
        &[108, 37, 171, 143, 248, 30, 18, 110],
        "updateTokenGroupMaxSize",
        "group updateAuthority",
        "maxSize:u64",
    ),
    row(
        &[161, 105, 88, 1, 237, 221, 216, 203],
        "updateTokenGroupAuthority",
        "group updateAuthority",
        "newAuthority:0|key",
    ),
    row(
        &[152, 32, 222, 176, 223, 237, 116, 134],
        "initializeTokenGroupMember",
        "member memberMint memberMintAuthority group groupUpdateAuthority",
        "",
    ),
    row(
        &[210, 225, 30, 162, 88, 184, 77, 141],
        "initializeTokenMetadata",
        "metadata updateAuthority mint mintAuthority",
        "name:str4 symbol:str4 uri:str4",
    ),
    row(
        &[221, 233, 49, 45, 181, 202, 220, 200],
        "updateTokenMetadataField",
        "metadata updateAuthority",
        "field:field value:str4",
    ),
    row(
        &[234, 18, 32, 56, 89, 141, 37, 181],
        "removeTokenMetadataKey",
        "metadata updateAuthority",
        "idempotent:bool key:str4",
    ),
    row(
        &[215, 228, 166, 228, 84, 100, 86, 123],
        "updateTokenMetadataAuthority",
        "metadata updateAuthority",
        "newAuthority:0|key",
    ),
    row(
        &[250, 166, 180, 250, 13, 12, 184, 70],
        "emitTokenMetadata",
        "metadata",
        "start:?u64 end:?u64",
    ),
];
