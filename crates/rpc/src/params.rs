//! Parameters of a request: positions, types, and the texts for what is wrong with them.
//!
//! As in agave, absent and null parameters at the end take their defaults, and objects may have
//! null fields and unknown keys. The texts are those of its JSON-RPC library.

use core::str::FromStr;

use serde::de::DeserializeOwned;
use serde_json::Value;
use solana_hash::Hash;
use solana_pubkey::Pubkey;
use solana_signature::Signature;

use crate::error::RpcError;

/// The parameters of a request, by position.
#[derive(Clone, Debug)]
pub(crate) struct Params {
    values: Vec<Value>,
}

impl Params {
    /// Takes the field `params` of a request, of which the method requires `least` and knows `most`.
    pub(crate) fn new(params: Option<Value>, least: usize, most: usize) -> Result<Self, RpcError> {
        match params.unwrap_or_default() {
            Value::Null if least == 0 => Ok(Self { values: Vec::new() }),
            Value::Array(values) if (least..=most).contains(&values.len()) => Ok(Self { values }),
            other if most == 0 => Err(none_expected(&other)),
            other if least == most => Err(not_a_tuple(&other, most)),
            other => Err(wrong_number(&other, least, most)),
        }
    }

    /// Takes the parameter at `index`, which is there.
    pub(crate) fn required<T: DeserializeOwned>(&mut self, index: usize) -> Result<T, RpcError> {
        convert(self.take(index))
    }

    /// Takes the parameter at `index`; `None` if it is absent or null.
    pub(crate) fn optional<T: DeserializeOwned>(
        &mut self,
        index: usize,
    ) -> Result<Option<T>, RpcError> {
        match self.take(index) {
            Value::Null => Ok(None),
            value => convert(value).map(Some),
        }
    }

    /// Takes the parameter at `index`, or its default if it is absent or null.
    pub(crate) fn or_default<T: DeserializeOwned + Default>(
        &mut self,
        index: usize,
    ) -> Result<T, RpcError> {
        self.optional(index).map(Option::unwrap_or_default)
    }

    /// Takes an address.
    pub(crate) fn key(&mut self, index: usize) -> Result<Pubkey, RpcError> {
        parse_key(&self.required::<String>(index)?)
    }

    /// Takes a signature.
    pub(crate) fn signature(&mut self, index: usize) -> Result<Signature, RpcError> {
        parse_signature(&self.required::<String>(index)?)
    }

    /// Takes the value at `index`; null if it is absent.
    pub(crate) fn take(&mut self, index: usize) -> Value {
        self.values.get_mut(index).map(Value::take).unwrap_or_default()
    }

    /// Returns the value at `index` without taking it.
    pub(crate) fn peek(&self, index: usize) -> &Value {
        self.values.get(index).unwrap_or(&Value::Null)
    }
}

/// What jsonrpc-core says (`Params::expect_no_params`), whose type of parameters the data show.
fn none_expected(params: &Value) -> RpcError {
    let details = match params {
        Value::Array(values) => format!("Array({values:?})"),
        Value::Object(fields) => format!("Map({fields:?})"),
        other => format!("{other:?}"),
    };
    with_details("No parameters were expected", details)
}

/// What serde says where all parameters are required: jsonrpc-derive reads them as a tuple.
fn not_a_tuple(params: &Value, size: usize) -> RpcError {
    let tuple = format!("a tuple of size {size}");
    let what = match params {
        Value::Array(values) if values.len() > size => {
            format!("invalid length {}, expected fewer elements in array", values.len())
        }
        Value::Array(values) => format!("invalid length {}, expected {tuple}", values.len()),
        Value::Null => format!("invalid type: null, expected {tuple}"),
        _ => format!("invalid type: map, expected {tuple}"),
    };
    RpcError::invalid_params(format!("Invalid params: {what}."))
}

/// What jsonrpc-derive says where some are optional (`params_with_trailing`).
fn wrong_number(params: &Value, least: usize, most: usize) -> RpcError {
    match params {
        Value::Array(values) if values.len() > most => with_details(
            &format!("Expected from {least} to {most} parameters."),
            format!("{:?}", format!("Got: {}", values.len())),
        ),
        Value::Array(_) | Value::Null => {
            RpcError::invalid_params(format!("`params` should have at least {least} argument(s)"))
        }
        _ => RpcError::invalid_params("`params` should be an array"),
    }
}

fn with_details(text: &str, details: String) -> RpcError {
    let mut error = RpcError::invalid_params(format!("Invalid parameters: {text}"));
    error.data = Some(Value::String(details));
    error
}

fn convert<T: DeserializeOwned>(value: Value) -> Result<T, RpcError> {
    serde_json::from_value(value)
        .map_err(|error| RpcError::invalid_params(format!("Invalid params: {error}.")))
}

fn parse<T: FromStr<Err: core::fmt::Debug>>(text: &str) -> Result<T, RpcError> {
    text.parse().map_err(|error| RpcError::invalid_params(format!("Invalid param: {error:?}")))
}

/// Parses an address: "Invalid param: WrongSize" or "Invalid param: Invalid".
pub(crate) fn parse_key(text: &str) -> Result<Pubkey, RpcError> {
    parse(text)
}

/// Parses addresses.
pub(crate) fn parse_keys(texts: &[String]) -> Result<Vec<Pubkey>, RpcError> {
    texts.iter().map(|text| parse_key(text)).collect()
}

/// Returns an error if a list has more than `max` elements.
pub(crate) fn check_count(count: usize, max: usize) -> Result<(), RpcError> {
    if count > max {
        return Err(RpcError::invalid_params(format!("Too many inputs provided; max {max}")));
    }
    Ok(())
}

/// Parses a signature.
pub(crate) fn parse_signature(text: &str) -> Result<Signature, RpcError> {
    parse(text)
}

/// Parses a blockhash.
pub(crate) fn parse_hash(text: &str) -> Result<Hash, RpcError> {
    parse(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(result: Result<impl core::fmt::Debug, RpcError>) -> String {
        result.unwrap_err().message
    }

    #[test]
    fn the_number_of_parameters_is_checked() {
        let new = |params: Value, least, most| Params::new(Some(params), least, most);
        assert_eq!(message(new(json!([]), 1, 2)), "`params` should have at least 1 argument(s)");
        assert_eq!(message(new(json!({}), 1, 2)), "`params` should be an array");
        let many = new(json!([1, 2, 3]), 1, 2).unwrap_err();
        assert_eq!(many.message, "Invalid parameters: Expected from 1 to 2 parameters.");
        assert_eq!(many.data, Some(json!("\"Got: 3\"")));
        assert!(Params::new(None, 0, 0).is_ok() && new(json!([]), 0, 0).is_ok());
        let data = |params| new(params, 0, 0).unwrap_err().data;
        assert_eq!(data(json!([1])), Some(json!("Array([Number(1)])")));
        assert_eq!(data(json!({})), Some(json!("Map({})")));
    }

    #[test]
    fn required_parameters_are_a_tuple() {
        let check = |params: Value, expected: &str| {
            let found = message(Params::new(Some(params), 2, 2));
            assert_eq!(found, format!("Invalid params: {expected}."));
        };
        check(json!(null), "invalid type: null, expected a tuple of size 2");
        check(json!({}), "invalid type: map, expected a tuple of size 2");
        check(json!([1]), "invalid length 1, expected a tuple of size 2");
        check(json!([1, 2, 3]), "invalid length 3, expected fewer elements in array");
    }

    #[test]
    fn types_are_checked() {
        let mut params = Params::new(Some(json!([5, null])), 1, 2).unwrap();
        assert_eq!(params.optional::<String>(1), Ok(None));
        assert_eq!(
            message(params.required::<String>(0)),
            "Invalid params: invalid type: integer `5`, expected a string."
        );
    }

    #[test]
    fn addresses_are_checked() {
        assert_eq!(message(parse_key("0OIl")), "Invalid param: Invalid");
        assert_eq!(message(parse_key("11")), "Invalid param: WrongSize");
    }
}
