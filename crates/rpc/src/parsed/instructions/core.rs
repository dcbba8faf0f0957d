//! Instructions of the system, loader, lookup table, stake, vote and associated token programs.

use super::row::{Row, row};

pub(super) const SYSTEM: &[Row] = &[
    row(&[0, 0, 0, 0], "createAccount", "source newAccount", "lamports:u64 space:u64 owner:key"),
    row(&[1, 0, 0, 0], "assign", "account", "owner:key"),
    row(&[2, 0, 0, 0], "transfer", "source destination", "lamports:u64"),
    row(
        &[3, 0, 0, 0],
        "createAccountWithSeed",
        "source newAccount",
        "base:key seed:str lamports:u64 space:u64 owner:key",
    ),
    row(&[4, 0, 0, 0], "advanceNonce", "nonceAccount recentBlockhashesSysvar nonceAuthority", ""),
    row(
        &[5, 0, 0, 0],
        "withdrawFromNonce",
        "nonceAccount destination recentBlockhashesSysvar rentSysvar nonceAuthority",
        "lamports:u64",
    ),
    row(
        &[6, 0, 0, 0],
        "initializeNonce",
        "nonceAccount recentBlockhashesSysvar rentSysvar",
        "nonceAuthority:key",
    ),
    row(&[7, 0, 0, 0], "authorizeNonce", "nonceAccount nonceAuthority", "newAuthorized:key"),
    row(&[8, 0, 0, 0], "allocate", "account", "space:u64"),
    row(&[9, 0, 0, 0], "allocateWithSeed", "account =2", "base:key seed:str space:u64 owner:key"),
    row(&[10, 0, 0, 0], "assignWithSeed", "account =2", "base:key seed:str owner:key"),
    row(
        &[11, 0, 0, 0],
        "transferWithSeed",
        "source sourceBase destination",
        "lamports:u64 sourceSeed:str sourceOwner:key",
    ),
    row(&[12, 0, 0, 0], "upgradeNonce", "nonceAccount", ""),
    // Without lamports there is no funding account.
    row(
        &[13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        "createAccountAllowPrefund",
        "newAccount",
        "space:u64 owner:key",
    ),
    row(
        &[13, 0, 0, 0],
        "createAccountAllowPrefund",
        "newAccount source",
        "lamports:u64 space:u64 owner:key",
    ),
];

const CREATE_ASSOCIATED: &str = "source account wallet mint systemProgram tokenProgram";

pub(super) const ASSOCIATED_TOKEN: &[Row] = &[
    row(&[0], "create", CREATE_ASSOCIATED, ""),
    row(&[1], "createIdempotent", CREATE_ASSOCIATED, ""),
    row(
        &[2],
        "recoverNested",
        "nestedSource nestedMint destination nestedOwner ownerMint wallet tokenProgram",
        "",
    ),
];

pub(super) const ADDRESS_LOOKUP_TABLE: &[Row] = &[
    row(
        &[0, 0, 0, 0],
        "createLookupTable",
        "lookupTableAccount lookupTableAuthority payerAccount systemProgram",
        "recentSlot:u64 bumpSeed:u8",
    ),
    row(&[1, 0, 0, 0], "freezeLookupTable", "lookupTableAccount lookupTableAuthority", ""),
    row(
        &[2, 0, 0, 0],
        "extendLookupTable",
        "lookupTableAccount lookupTableAuthority payerAccount?4 systemProgram?4",
        "newAddresses:keys",
    ),
    row(&[3, 0, 0, 0], "deactivateLookupTable", "lookupTableAccount lookupTableAuthority", ""),
    row(&[4, 0, 0, 0], "closeLookupTable", "lookupTableAccount lookupTableAuthority recipient", ""),
];

pub(super) const LOADER_V2: &[Row] = &[
    row(&[0, 0, 0, 0], "write", "account", "offset:u32 bytes:blob"),
    row(&[1, 0, 0, 0], "finalize", "account =2", ""),
];

pub(super) const LOADER_V3: &[Row] = &[
    row(&[0, 0, 0, 0], "initializeBuffer", "account authority?", ""),
    row(&[1, 0, 0, 0], "write", "account authority", "offset:u32 bytes:blob"),
    row(
        &[2, 0, 0, 0],
        "deployWithMaxDataLen",
        "payerAccount programDataAccount programAccount bufferAccount rentSysvar clockSysvar systemProgram authority",
        "maxDataLen:u64",
    ),
    row(
        &[3, 0, 0, 0],
        "upgrade",
        "programDataAccount programAccount bufferAccount spillAccount rentSysvar clockSysvar authority",
        "",
    ),
    row(&[4, 0, 0, 0], "setAuthority", "account authority newAuthority|", ""),
    row(&[5, 0, 0, 0], "close", "account recipient authority programAccount|", ""),
    row(
        &[6, 0, 0, 0],
        "extendProgram",
        "programDataAccount programAccount systemProgram| payerAccount|",
        "additionalBytes:u32",
    ),
    row(&[7, 0, 0, 0], "setAuthorityChecked", "account authority newAuthority", ""),
];

pub(super) const STAKE: &[Row] = &[
    row(
        &[0, 0, 0, 0],
        "initialize",
        "stakeAccount rentSysvar",
        "authorized{ staker:key withdrawer:key } lockup{ unixTimestamp:i64 epoch:u64 custodian:key }",
    ),
    row(
        &[1, 0, 0, 0],
        "authorize",
        "stakeAccount clockSysvar authority custodian?",
        "newAuthority:key authorityType:enum4(Staker,Withdrawer)",
    ),
    row(
        &[2, 0, 0, 0],
        "delegate",
        "stakeAccount voteAccount clockSysvar stakeHistorySysvar stakeConfigAccount stakeAuthority",
        "",
    ),
    row(&[3, 0, 0, 0], "split", "stakeAccount newSplitAccount stakeAuthority", "lamports:u64"),
    row(
        &[4, 0, 0, 0],
        "withdraw",
        "stakeAccount destination clockSysvar stakeHistorySysvar withdrawAuthority custodian?",
        "lamports:u64",
    ),
    row(&[5, 0, 0, 0], "deactivate", "stakeAccount clockSysvar stakeAuthority", ""),
    row(
        &[6, 0, 0, 0],
        "setLockup",
        "stakeAccount custodian",
        "lockup{ unixTimestamp:?i64 epoch:?u64 custodian:?key }",
    ),
    row(
        &[7, 0, 0, 0],
        "merge",
        "destination source clockSysvar stakeHistorySysvar stakeAuthority",
        "",
    ),
    row(
        &[8, 0, 0, 0],
        "authorizeWithSeed",
        "stakeAccount authorityBase clockSysvar? custodian?",
        "newAuthorized:key authorityType:enum4(Staker,Withdrawer) authoritySeed:str authorityOwner:key",
    ),
    row(&[9, 0, 0, 0], "initializeChecked", "stakeAccount rentSysvar staker withdrawer", ""),
    row(
        &[10, 0, 0, 0],
        "authorizeChecked",
        "stakeAccount clockSysvar authority newAuthority custodian?",
        "authorityType:enum4(Staker,Withdrawer)",
    ),
    row(
        &[11, 0, 0, 0],
        "authorizeCheckedWithSeed",
        "stakeAccount authorityBase clockSysvar newAuthorized custodian?",
        "authorityType:enum4(Staker,Withdrawer) authoritySeed:str authorityOwner:key",
    ),
    row(
        &[12, 0, 0, 0],
        "setLockupChecked",
        "stakeAccount custodian lockup.custodian?",
        "lockup{ unixTimestamp:?i64 epoch:?u64 }",
    ),
    row(&[13, 0, 0, 0], "getMinimumDelegation", "", ""),
    row(
        &[14, 0, 0, 0],
        "deactivateDelinquent",
        "stakeAccount voteAccount referenceVoteAccount",
        "",
    ),
    row(
        &[15, 0, 0, 0],
        "redelegate",
        "stakeAccount newStakeAccount voteAccount stakeConfigAccount stakeAuthority",
        "",
    ),
    row(&[16, 0, 0, 0], "moveStake", "source destination stakeAuthority", "lamports:u64"),
    row(&[17, 0, 0, 0], "moveLamports", "source destination stakeAuthority", "lamports:u64"),
];

/// The types of vote states and tower synchronisations are in lower case, as agave writes them.
pub(super) const VOTE: &[Row] = &[
    row(
        &[0, 0, 0, 0],
        "initialize",
        "voteAccount rentSysvar clockSysvar node",
        "_:key authorizedVoter:key authorizedWithdrawer:key commission:u8",
    ),
    row(
        &[1, 0, 0, 0],
        "authorize",
        "voteAccount clockSysvar authority",
        "newAuthority:key authorityType:enum4(Voter,Withdrawer)",
    ),
    row(
        &[2, 0, 0, 0],
        "vote",
        "voteAccount slotHashesSysvar clockSysvar voteAuthority",
        "vote{ slots:u64s hash:key timestamp:|i64 }",
    ),
    row(&[3, 0, 0, 0], "withdraw", "voteAccount destination withdrawAuthority", "lamports:u64"),
    row(
        &[4, 0, 0, 0],
        "updateValidatorIdentity",
        "voteAccount newValidatorIdentity withdrawAuthority",
        "",
    ),
    row(&[5, 0, 0, 0], "updateCommission", "voteAccount withdrawAuthority", "commission:u8"),
    row(
        &[6, 0, 0, 0],
        "voteSwitch",
        "voteAccount slotHashesSysvar clockSysvar voteAuthority",
        "vote{ slots:u64s hash:key timestamp:|i64 } hash:key",
    ),
    row(
        &[7, 0, 0, 0],
        "authorizeChecked",
        "voteAccount clockSysvar authority newAuthority",
        "authorityType:enum4(Voter,Withdrawer)",
    ),
    row(
        &[8, 0, 0, 0],
        "updatevotestate",
        "voteAccount voteAuthority",
        "voteStateUpdate{ lockouts:lockouts root:|u64 hash:key timestamp:|i64 }",
    ),
    row(
        &[9, 0, 0, 0],
        "updatevotestateswitch",
        "voteAccount voteAuthority",
        "voteStateUpdate{ lockouts:lockouts root:|u64 hash:key timestamp:|i64 } hash:key",
    ),
    row(
        &[10, 0, 0, 0],
        "authorizeWithSeed",
        "voteAccount clockSysvar authorityBaseKey",
        "authorityType:enum4(Voter,Withdrawer) authorityOwner:key authoritySeed:str newAuthority:key",
    ),
    row(
        &[11, 0, 0, 0],
        "authorizeCheckedWithSeed",
        "voteAccount clockSysvar authorityBaseKey newAuthority",
        "authorityType:enum4(Voter,Withdrawer) authorityOwner:key authoritySeed:str",
    ),
    row(
        &[12, 0, 0, 0],
        "compactupdatevotestate",
        "voteAccount voteAuthority",
        "voteStateUpdate{ root:root lockouts:offsets hash:key timestamp:|i64 }",
    ),
    row(
        &[13, 0, 0, 0],
        "compactupdatevotestateswitch",
        "voteAccount voteAuthority",
        "voteStateUpdate{ root:root lockouts:offsets hash:key timestamp:|i64 } hash:key",
    ),
    row(
        &[14, 0, 0, 0],
        "towersync",
        "voteAccount voteAuthority",
        "towerSync{ root:root lockouts:offsets hash:key timestamp:|i64 blockId:key }",
    ),
    row(
        &[15, 0, 0, 0],
        "towersyncswitch",
        "voteAccount voteAuthority",
        "towerSync{ root:root lockouts:offsets hash:key timestamp:|i64 blockId:key } hash:key",
    ),
    row(
        &[16, 0, 0, 0],
        "initializeV2",
        "voteAccount node inflationRewardsCollector blockRevenueCollector",
        "_:key authorizedVoter:key authorizedVoterBlsPubkey:b48 \
         authorizedVoterBlsProofOfPossession:b96 authorizedWithdrawer:key \
         inflationRewardsCommissionBps:u16 blockRevenueCommissionBps:u16",
    ),
    row(
        &[17, 0, 0, 0],
        "updateCommissionCollector",
        "voteAccount newCollector withdrawAuthority",
        "commissionKind:enum4(InflationRewards,BlockRevenue)",
    ),
    row(
        &[18, 0, 0, 0],
        "updateCommissionBps",
        "voteAccount withdrawAuthority",
        "commissionBps:u16 commissionKind:enum4(InflationRewards,BlockRevenue)",
    ),
    row(&[19, 0, 0, 0], "depositDelegatorRewards", "voteAccount source", "deposit:u64"),
];
