//! Instructions that SPL Token and Token-2022 share.

use serde_json::{Value, json};

use super::{
    row::{Row, fields, find, row},
    token_extensions,
};

/// The tables of both token programs.
pub(super) const TOKEN_TABLES: &[&[Row]] = &[
    TOKEN,
    token_extensions::TRANSFER_FEE,
    token_extensions::CONFIDENTIAL,
    token_extensions::OTHERS,
];

/// The tag of several instructions in one.
const BATCH: u8 = 255;

const TOKEN: &[Row] = &[
    row(
        &[0],
        "initializeMint",
        "mint rentSysvar",
        "decimals:u8 mintAuthority:key freezeAuthority:?key",
    ),
    row(&[1], "initializeAccount", "account mint owner rentSysvar", ""),
    row(&[2], "initializeMultisig", "multisig rentSysvar +signers", "m:u8"),
    row(&[3], "transfer", "source destination @authority", "amount:su64"),
    row(&[4], "approve", "source delegate @owner", "amount:su64"),
    row(&[5], "revoke", "source @owner", ""),
    row(&[6], "setAuthority", "mint @authority", AUTHORITY),
    row(&[7], "mintTo", "mint account @mintAuthority", "amount:su64"),
    row(&[8], "burn", "account mint @authority", "amount:su64"),
    row(&[9], "closeAccount", "account destination @owner", ""),
    row(&[10], "freezeAccount", "account mint @freezeAuthority", ""),
    row(&[11], "thawAccount", "account mint @freezeAuthority", ""),
    row(&[12], "transferChecked", "source mint destination @authority", "tokenAmount:amount _:u8"),
    row(&[13], "approveChecked", "source mint delegate @owner", "tokenAmount:amount _:u8"),
    row(&[14], "mintToChecked", "mint account @mintAuthority", "tokenAmount:amount _:u8"),
    row(&[15], "burnChecked", "account mint @authority", "tokenAmount:amount _:u8"),
    row(&[16], "initializeAccount2", "account mint rentSysvar", "owner:key"),
    row(&[17], "syncNative", "account", ""),
    row(&[18], "initializeAccount3", "account mint", "owner:key"),
    row(&[19], "initializeMultisig2", "multisig +signers", "m:u8"),
    row(&[20], "initializeMint2", "mint", "decimals:u8 mintAuthority:key freezeAuthority:?key"),
    row(&[21], "getAccountDataSize", "mint", "extensionTypes:extensions?"),
    row(&[22], "initializeImmutableOwner", "account", ""),
    row(&[23], "amountToUiAmount", "mint", "amount:su64"),
    row(&[24], "uiAmountToAmount", "mint", "uiAmount:tail"),
    row(&[38], "withdrawExcessLamports", "source destination @authority", ""),
    row(&[45], "unwrapLamports", "source destination @authority", "amount:?su64"),
];

const AUTHORITY: &str = "authorityType:enum1(mintTokens,freezeAccount,accountOwner,closeAccount,transferFeeConfig,withheldWithdraw,closeMint,interestRate,permanentDelegate,confidentialTransferMint,transferHookProgramId,confidentialTransferFeeConfig,metadataPointer,groupPointer,groupMemberPointer,scaledUiAmount,pause,permissionedBurn) newAuthority:|key";

/// Reads an instruction of a token program.
pub(super) fn parse(data: &[u8], accounts: &[String]) -> Option<Value> {
    if let Some((&BATCH, batch)) = data.split_first() {
        return parse_batch(batch, accounts);
    }
    let row = find(TOKEN_TABLES, data)?;
    let mut parsed = fields(row, data, accounts)?;
    // Authorities over an account are told from those over a mint by their type alone.
    if row.name == "setAuthority"
        && let Some(info) = parsed.get_mut("info").and_then(Value::as_object_mut)
        && matches!(
            info.get("authorityType").and_then(Value::as_str),
            Some("accountOwner" | "closeAccount")
        )
        && let Some(account) = info.remove("mint")
    {
        info.insert("account".to_owned(), account);
    }
    Some(parsed)
}

/// Reads a batch: for each instruction the number of its accounts, the length of its data, and the
/// data.
fn parse_batch(mut batch: &[u8], mut accounts: &[String]) -> Option<Value> {
    let mut instructions = Vec::new();
    while let [count, len, rest @ ..] = batch {
        let (data, rest) = rest.split_at_checked(usize::from(*len))?;
        let (own, others) = accounts.split_at_checked(usize::from(*count))?;
        if own.is_empty() || data.first() == Some(&BATCH) {
            return None;
        }
        instructions.push(parse(data, own)?);
        (batch, accounts) = (rest, others);
    }
    batch.is_empty().then(|| json!({ "info": { "instructions": instructions }, "type": "batch" }))
}
