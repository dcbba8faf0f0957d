//! Cases: sequences of calls of a target's actions, and their text.

use core::fmt;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The most calls of a case.
pub const CALLS_MAX: usize = 64;
/// The most bytes of a call's data.
pub const DATA_BYTES_MAX: usize = 4096;

/// A call of an action.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Call {
    /// The index of the action in its target.
    pub action: usize,
    /// The bytes that the action takes its arguments from.
    pub data: Vec<u8>,
}

/// A sequence of calls, each on the state that the one before left.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct CallSequence {
    /// The calls.
    pub calls: Vec<Call>,
}

/// A text that is not a case of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSequenceError(String);

impl fmt::Display for CallSequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a case: {}", self.0)
    }
}

impl core::error::Error for CallSequenceError {}

/// A length in an input that stands for one in the two bytes that follow.
const LONG: u8 = u8::MAX;

impl CallSequence {
    /// Reads a case from the input of another fuzzer, for a target with this many actions.
    ///
    /// Every sequence of bytes is a case: of each call, a byte for the action, modulo their number, one
    /// for the length of the data, and the data, which may end with the input. The length 255 stands
    /// for one of two bytes, the lower one first. What follows after 64 calls is ignored.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], actions: usize) -> Self {
        let (mut calls, mut rest) = (Vec::new(), bytes);
        while let [action, more @ ..] = rest
            && let Some(action) = usize::from(*action).checked_rem(actions)
            && calls.len() < CALLS_MAX
        {
            let (len, more) = match more {
                [] => (0, more),
                [LONG, low, high, more @ ..] => (u16::from_le_bytes([*low, *high]), more),
                [len, more @ ..] => (u16::from(*len), more),
            };
            let len = usize::from(len).min(DATA_BYTES_MAX).min(more.len());
            let (data, more) = more.split_at(len);
            calls.push(Call { action, data: data.to_vec() });
            rest = more;
        }
        Self { calls }
    }

    /// Returns the input that [`CallSequence::from_bytes`] reads the case from.
    ///
    /// # Panics
    /// If the case has an action above 255, or more data than a case may have.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for Call { action, data } in &self.calls {
            bytes.push(u8::try_from(*action).expect("targets have few actions"));
            match u8::try_from(data.len()) {
                Ok(len) if len != LONG => bytes.push(len),
                _ => {
                    let len = u16::try_from(data.len()).expect("cases have little data");
                    bytes.push(LONG);
                    bytes.extend(len.to_le_bytes());
                }
            }
            bytes.extend(data);
        }
        bytes
    }

    /// Parses the text of a case, for a target with these actions.
    ///
    /// # Errors
    /// If it is no JSON of this form, names an action that is not there, or is too long.
    pub fn parse(text: &str, actions: &[&str]) -> Result<Self, CallSequenceError> {
        let value: Value =
            serde_json::from_str(text).map_err(|it| CallSequenceError(it.to_string()))?;
        let calls = value.get("calls").and_then(Value::as_array);
        let calls = calls.ok_or_else(|| CallSequenceError("it has no list `calls`".to_owned()))?;
        if calls.len() > CALLS_MAX {
            let why = format!("it has {} calls, and {CALLS_MAX} is the maximum", calls.len());
            return Err(CallSequenceError(why));
        }
        let call = |(index, call)| {
            parse_call(call, actions).map_err(|CallSequenceError(why)| {
                CallSequenceError(format!("calls[{index}]: {why}"))
            })
        };
        Ok(Self { calls: calls.iter().enumerate().map(call).collect::<Result<_, _>>()? })
    }

    /// Returns the text of the case, one line.
    ///
    /// # Panics
    /// If the case has an action that is not in `actions`.
    #[must_use]
    pub fn to_text(&self, actions: &[&str]) -> String {
        let call = |call: &Call| {
            let name = actions.get(call.action).expect("cases call actions of their target");
            json!({ "action": name, "data": hex(&call.data) })
        };
        json!({ "calls": self.calls.iter().map(call).collect::<Vec<_>>() }).to_string()
    }

    /// Returns a name that depends on nothing but the case.
    #[must_use]
    pub fn name(&self, actions: &[&str]) -> String {
        let digest = Sha256::digest(self.to_text(actions).as_bytes());
        hex(digest.get(..8).unwrap_or_default())
    }
}

fn parse_call(call: &Value, actions: &[&str]) -> Result<Call, CallSequenceError> {
    let bad = |why: String| CallSequenceError(why);
    let text = |name: &str| {
        let text = call.get(name).and_then(Value::as_str);
        text.ok_or_else(|| bad(format!("`{name}` is not a string")))
    };
    let action = text("action")?;
    let index = actions.iter().position(|it| *it == action);
    let known = || bad(format!("there is no action `{action}`, only {}", actions.join(", ")));
    let data = unhex(text("data")?).ok_or_else(|| bad("`data` is not hexadecimal".to_owned()))?;
    if data.len() > DATA_BYTES_MAX {
        let len = data.len();
        return Err(bad(format!("`data` has {len} bytes, and {DATA_BYTES_MAX} is the maximum")));
    }
    Ok(Call { action: index.ok_or_else(known)?, data })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}
