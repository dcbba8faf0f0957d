//! The tables: items, results, and contents by hash.
//!
//! All types exist in every engine: 64-bit signed integers, strings, binary, booleans, lists and
//! structs. Unsigned 64-bit numbers (lamports, slots) are stored as the signed number with the same
//! bits. Hashes and addresses have 32 bytes.

use std::sync::{Arc, OnceLock};

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

/// The name of each column, once.
pub mod column {
    macro_rules! names {
        ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
            $($(#[$doc])* pub const $name: &str = $text;)*
        };
    }
    names! {
        /// The hash that names an item: of all other columns of its row that say what to run.
        ITEM_ID = "item_id";
        /// What the item is: `transaction`, `fuzz` or `segment`.
        KIND = "kind";
        /// The slot; null for the one of the environment's clock.
        SLOT = "slot";
        /// The epoch; null for the one of the environment's clock.
        EPOCH = "epoch";
        /// The time of the clock sysvar in seconds; null for the environment's.
        UNIX_TIMESTAMP = "unix_timestamp";
        /// The hash of the environment's file.
        ENV_REF = "env_ref";
        /// The last blockhash of the bank; null for the environment's.
        BLOCKHASH = "blockhash";
        /// What to run: the signed transaction as it is sent, or the file of a search or
        /// of blocks.
        MESSAGE = "message";
        /// The accounts before the transaction.
        ACCOUNTS = "accounts";
        /// Changes of the accounts: the what-if part.
        OVERRIDES = "overrides";
        /// Whether signatures are verified.
        VERIFY_SIGNATURES = "verify_signatures";
        /// Whether the blockhash has to be one of the environment's, or a durable nonce.
        CHECK_BLOCKHASH = "check_blockhash";
        /// The recorded result, if there is one.
        EXPECT = "expect";

        /// An account's address.
        PUBKEY = "pubkey";
        /// An account's balance.
        LAMPORTS = "lamports";
        /// The program that owns an account.
        OWNER = "owner";
        /// Whether an account is marked as a program.
        EXECUTABLE = "executable";
        /// The hash of an account's data, if they are among the contents.
        REF = "ref";
        /// The data themselves.
        DATA = "data";
        /// Where the replacing bytes start in an account's data.
        OFFSET = "offset";
        /// The replacing bytes.
        BYTES = "bytes";

        /// The version of Selkie that executed the item.
        ENGINE_VERSION = "engine_version";
        /// `Success`, `Failed`, `FeesOnly`, `Dropped`, `Found`, `MalformedItem` or `EngineCrash`.
        STATUS = "status";
        /// The transaction error as in RPC's `err`, or what is wrong with the item.
        ERROR = "error";
        /// The index of the failed instruction.
        ERROR_INDEX = "error_index";
        /// Compute units consumed.
        COMPUTE_UNITS = "compute_units";
        /// The fee in lamports.
        FEE = "fee";
        /// The data returned last.
        RETURN_DATA = "return_data";
        /// The hash of the log lines.
        LOGS_HASH = "logs_hash";
        /// The log lines, if they were asked for.
        LOGS = "logs";
        /// The written accounts.
        POST = "post";
        /// The hash of an account's data after the transaction.
        DATA_HASH = "data_hash";
        /// The hash of everything that consensus sees.
        EFFECTS_HASH = "effects_hash";
        /// Whether the result is the expected one; null without an expectation.
        MATCHES = "matches";
        /// The elapsed time in nanoseconds: the one column that differs between runs.
        NANOSECONDS = "nanoseconds";
        /// The size of the item in bytes.
        BYTES_IN = "bytes_in";
        /// What a search or blocks took, in JSON. Results of versions before 2 have it as `return_data`.
        EFFORT = "effort";
        /// The findings of a search, in JSON. Results of versions before 2 have them as `error`.
        FINDINGS = "findings";
        /// The hash of a content.
        HASH = "hash";
    }
}

use column as c;

fn required(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, false)
}

fn nullable(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

/// Returns the type of a list whose entries are structs.
fn list_of(fields: Fields) -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Struct(fields), false)))
}

/// Returns the fields of an item's account. `ref` or `data` is null; both are for empty accounts.
#[must_use]
pub fn account_fields() -> Fields {
    Fields::from(vec![
        required(c::PUBKEY, DataType::Binary),
        required(c::LAMPORTS, DataType::Int64),
        required(c::OWNER, DataType::Binary),
        required(c::EXECUTABLE, DataType::Boolean),
        nullable(c::REF, DataType::Binary),
        nullable(c::DATA, DataType::Binary),
    ])
}

/// Returns the fields of an override. What is null stays as it is.
#[must_use]
pub fn override_fields() -> Fields {
    Fields::from(vec![
        required(c::PUBKEY, DataType::Binary),
        nullable(c::LAMPORTS, DataType::Int64),
        nullable(c::OWNER, DataType::Binary),
        nullable(c::OFFSET, DataType::Int64),
        nullable(c::BYTES, DataType::Binary),
    ])
}

/// Returns the fields of an expectation. What is null is not compared.
#[must_use]
pub fn expect_fields() -> Fields {
    Fields::from(vec![
        nullable(c::STATUS, DataType::Utf8),
        nullable(c::ERROR, DataType::Utf8),
        nullable(c::COMPUTE_UNITS, DataType::Int64),
        nullable(c::EFFECTS_HASH, DataType::Binary),
    ])
}

/// Returns the fields of a written account. `data` is null unless asked for.
#[must_use]
pub fn post_fields() -> Fields {
    Fields::from(vec![
        required(c::PUBKEY, DataType::Binary),
        required(c::LAMPORTS, DataType::Int64),
        required(c::OWNER, DataType::Binary),
        required(c::EXECUTABLE, DataType::Boolean),
        required(c::DATA_HASH, DataType::Binary),
        nullable(c::DATA, DataType::Binary),
    ])
}

/// Returns the schema of items.
#[must_use]
pub fn items() -> SchemaRef {
    static SCHEMA: OnceLock<SchemaRef> = OnceLock::new();
    let make = || {
        Arc::new(Schema::new(vec![
            required(c::ITEM_ID, DataType::Binary),
            required(c::KIND, DataType::Utf8),
            nullable(c::SLOT, DataType::Int64),
            nullable(c::EPOCH, DataType::Int64),
            nullable(c::UNIX_TIMESTAMP, DataType::Int64),
            required(c::ENV_REF, DataType::Binary),
            nullable(c::BLOCKHASH, DataType::Binary),
            required(c::MESSAGE, DataType::Binary),
            required(c::ACCOUNTS, list_of(account_fields())),
            required(c::OVERRIDES, list_of(override_fields())),
            required(c::VERIFY_SIGNATURES, DataType::Boolean),
            required(c::CHECK_BLOCKHASH, DataType::Boolean),
            nullable(c::EXPECT, DataType::Struct(expect_fields())),
        ]))
    };
    Arc::clone(SCHEMA.get_or_init(make))
}

/// The version of [`results`]: the first had neither `effort` nor `findings`. Whatever reads results takes
/// both.
pub const RESULTS_VERSION: u32 = 2;

/// Returns the schema of results.
#[must_use]
pub fn results() -> SchemaRef {
    static SCHEMA: OnceLock<SchemaRef> = OnceLock::new();
    let lines = DataType::List(Arc::new(Field::new("item", DataType::Utf8, false)));
    let make = || {
        Arc::new(Schema::new(vec![
            required(c::ITEM_ID, DataType::Binary),
            required(c::ENGINE_VERSION, DataType::Utf8),
            required(c::STATUS, DataType::Utf8),
            nullable(c::ERROR, DataType::Utf8),
            nullable(c::ERROR_INDEX, DataType::Int64),
            nullable(c::COMPUTE_UNITS, DataType::Int64),
            nullable(c::FEE, DataType::Int64),
            nullable(c::RETURN_DATA, DataType::Binary),
            nullable(c::LOGS_HASH, DataType::Binary),
            nullable(c::LOGS, lines),
            required(c::POST, list_of(post_fields())),
            required(c::EFFECTS_HASH, DataType::Binary),
            nullable(c::MATCHES, DataType::Boolean),
            required(c::NANOSECONDS, DataType::Int64),
            required(c::BYTES_IN, DataType::Int64),
            nullable(c::EFFORT, DataType::Utf8),
            nullable(c::FINDINGS, DataType::Utf8),
        ]))
    };
    Arc::clone(SCHEMA.get_or_init(make))
}

/// Returns the schema of contents: account data, programs and environments by their SHA-256.
#[must_use]
pub fn contents() -> SchemaRef {
    static SCHEMA: OnceLock<SchemaRef> = OnceLock::new();
    let make = || {
        Arc::new(Schema::new(vec![
            required(c::HASH, DataType::Binary),
            required(c::DATA, DataType::Binary),
        ]))
    };
    Arc::clone(SCHEMA.get_or_init(make))
}
