//! Functions of addresses: `base58(binary)` and `unbase58(text)`.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrayRef, BinaryArray, StringArray, cast::AsArray as _},
        datatypes::DataType,
    },
    common::{Result, ScalarValue, exec_datafusion_err, internal_datafusion_err},
    logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf},
    prelude::SessionContext,
};

/// The longest bytes and text: the time grows with the square of the length. Signatures have 64 bytes.
const BYTES_MAX: usize = 1024;

pub(super) fn register(context: &SessionContext) {
    for function in [
        udf("base58", DataType::Binary, DataType::Utf8, base58),
        udf("unbase58", DataType::Utf8, DataType::Binary, unbase58),
    ] {
        context.register_udf(function);
    }
}

/// Makes a function of one argument.
fn udf(
    name: &str,
    from: DataType,
    to: DataType,
    function: fn(&ArrayRef) -> Result<ArrayRef>,
) -> ScalarUDF {
    let call = move |arguments: &[ColumnarValue]| match arguments {
        [ColumnarValue::Array(values)] => Ok(ColumnarValue::Array(function(values)?)),
        [ColumnarValue::Scalar(value)] => {
            let values = function(&value.to_array()?)?;
            Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?))
        }
        _ => Err(internal_datafusion_err!("{} arguments instead of one", arguments.len())),
    };
    create_udf(name, vec![from], to, Volatility::Immutable, Arc::new(call))
}

fn base58(values: &ArrayRef) -> Result<ArrayRef> {
    let text = values.as_binary::<i32>().iter().map(|bytes| bytes.map(encode).transpose());
    Ok(Arc::new(text.collect::<Result<StringArray>>()?))
}

fn unbase58(values: &ArrayRef) -> Result<ArrayRef> {
    let bytes = values.as_string::<i32>().iter().map(|text| text.map(decode).transpose());
    let bytes = bytes.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(bytes.iter().map(Option::as_deref).collect::<BinaryArray>()))
}

fn encode(bytes: &[u8]) -> Result<String> {
    match bytes.len() {
        ..=BYTES_MAX => Ok(bs58::encode(bytes).into_string()),
        len => {
            let help = "use encode(…, 'hex')";
            Err(exec_datafusion_err!("base58 is of up to {BYTES_MAX} bytes, not {len}; {help}"))
        }
    }
}

fn decode(text: &str) -> Result<Vec<u8>> {
    match text.len() {
        ..=BYTES_MAX => bs58::decode(text)
            .into_vec()
            .map_err(|error| exec_datafusion_err!("`{text}` is not base58: {error}")),
        len => Err(exec_datafusion_err!("unbase58 is of up to {BYTES_MAX} characters, not {len}")),
    }
}
