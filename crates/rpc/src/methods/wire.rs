//! Transactions and messages as clients send them.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use solana_message::VersionedMessage;
use solana_transaction::versioned::VersionedTransaction;

use crate::{config::TransactionEncoding, encode::transaction::is_v1, error::RpcError};

/// The most bytes of a transaction, raw and as base58 and base64.
struct Sizes {
    raw: usize,
    base58: usize,
    base64: usize,
}

const SIZES: Sizes = Sizes { raw: 1232, base58: 1683, base64: 1644 };
/// Version 1 is longer (SIMD-0385), and comes as base64 alone.
const V1_SIZES: Sizes = Sizes { raw: 4096, base58: 1683, base64: 5464 };

/// The most bytes of a transaction of any version.
pub(crate) const TRANSACTION_BYTES_MAX: usize = V1_SIZES.raw;

const TRANSACTION: &str = "solana_transaction::versioned::VersionedTransaction";
const MESSAGE: &str = "solana_message::versions::VersionedMessage";

/// Decodes a transaction.
///
/// # Errors
/// If the encoding is not supported, or the text is too long or does not hold a transaction.
pub(super) fn transaction(
    text: &str,
    encoding: Option<TransactionEncoding>,
) -> Result<VersionedTransaction, RpcError> {
    let bytes = match encoding.unwrap_or(TransactionEncoding::Base58) {
        TransactionEncoding::Binary | TransactionEncoding::Base58 => base58(text)?,
        TransactionEncoding::Base64 => base64(text, TRANSACTION)?,
        other => {
            let name = other.name();
            let text = format!("unsupported encoding: {name}. Supported encodings: base58, base64");
            return Err(RpcError::invalid_params(text));
        }
    };
    let transaction: VersionedTransaction = wincode::deserialize(&bytes).map_err(|error| {
        RpcError::invalid_params(format!("failed to deserialize {TRANSACTION}: {error}"))
    })?;
    transaction.sanitize().map_err(|_| {
        let error = solana_transaction_error::TransactionError::SanitizeFailure;
        RpcError::invalid_params(format!("invalid transaction: {error}"))
    })?;
    Ok(transaction)
}

/// Decodes a transaction in its wire format; `None` if it is too long for its version or not well
/// formed.
pub(crate) fn raw_transaction(bytes: &[u8]) -> Option<VersionedTransaction> {
    let sizes = if is_v1(bytes) { &V1_SIZES } else { &SIZES };
    let bytes = Some(bytes).filter(|bytes| bytes.len() <= sizes.raw)?;
    let transaction: VersionedTransaction = wincode::deserialize(bytes).ok()?;
    transaction.sanitize().is_ok().then_some(transaction)
}

/// Decodes a message in base64.
///
/// # Errors
/// If the text is too long or does not hold a message.
pub(super) fn message(text: &str) -> Result<VersionedMessage, RpcError> {
    let bytes = base64(text, MESSAGE)?;
    wincode::deserialize(&bytes).map_err(|error| {
        RpcError::invalid_params(format!("failed to deserialize {MESSAGE}: {error}"))
    })
}

fn too_long(encoding: &str, kind: &str, len: usize, max: usize, raw: usize) -> RpcError {
    RpcError::invalid_params(format!(
        "{encoding} encoded {kind} too large: {len} bytes (max: encoded/raw {max}/{raw})"
    ))
}

fn decoded_too_long(kind: &str, len: usize, max: usize) -> RpcError {
    RpcError::invalid_params(format!("decoded {kind} too large: {len} bytes (max: {max} bytes)"))
}

fn base58(text: &str) -> Result<Vec<u8>, RpcError> {
    if text.len() > SIZES.base58 {
        return Err(too_long("base58", TRANSACTION, text.len(), SIZES.base58, SIZES.raw));
    }
    let bytes = bs58::decode(text)
        .into_vec()
        .map_err(|error| RpcError::invalid_params(format!("invalid base58 encoding: {error:?}")))?;
    match bytes.len() {
        len if len > SIZES.raw => Err(decoded_too_long(TRANSACTION, len, SIZES.raw)),
        _ => Ok(bytes),
    }
}

fn base64(text: &str, kind: &str) -> Result<Vec<u8>, RpcError> {
    if text.len() > V1_SIZES.base64 {
        return Err(too_long("base64", kind, text.len(), V1_SIZES.base64, V1_SIZES.raw));
    }
    let bytes = BASE64_STANDARD
        .decode(text)
        .map_err(|error| RpcError::invalid_params(format!("invalid base64 encoding: {error:?}")))?;
    let sizes = if is_v1(&bytes) { &V1_SIZES } else { &SIZES };
    if text.len() > sizes.base64 {
        return Err(too_long("base64", kind, text.len(), sizes.base64, sizes.raw));
    }
    match bytes.len() {
        len if len > sizes.raw => Err(decoded_too_long(kind, len, sizes.raw)),
        _ => Ok(bytes),
    }
}
