//! Answers of a server, which may say anything: they are parsed to what was asked for, without a tree of
//! values between, and lists end where their budget does.

use core::{fmt, marker::PhantomData};
use selkie_isa::plain;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// The log lines of an error that are shown.
const LOG_LINES_MAX: usize = 1000;

/// An error that the server answers with.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Failure {
    message: String,
    #[serde(default)]
    data: Logs,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain::line(&self.message))?;
        self.data.0.iter().try_for_each(|line| write!(f, "\n  {}", plain::line(line)))
    }
}

impl core::error::Error for Failure {}

/// Parses an answer: the error first, since it may come with a result of another form.
pub(super) fn parse<T: DeserializeOwned>(answer: &[u8]) -> serde_json::Result<Result<T, Failure>> {
    #[derive(Deserialize)]
    struct Failed {
        error: Option<Failure>,
    }
    #[derive(Deserialize)]
    struct Answer<T> {
        result: T,
    }
    match serde_json::from_slice::<Failed>(answer)?.error {
        Some(failure) => Ok(Err(failure)),
        None => serde_json::from_slice::<Answer<T>>(answer).map(|it| Ok(it.result)),
    }
}

/// Returns whether an answer is one of JSON-RPC at all.
pub(super) fn is_answer(answer: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Any {
        #[serde(rename = "jsonrpc")]
        _version: IgnoredAny,
    }
    serde_json::from_slice::<Any>(answer).is_ok()
}

/// The log lines in the data of an error, which servers use for other things too.
#[derive(Clone, Default, Debug)]
struct Logs(Vec<String>);

impl<'de> Deserialize<'de> for Logs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LogsVisitor)
    }
}

struct LogsVisitor;

impl<'de> Visitor<'de> for LogsVisitor {
    type Value = Logs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Logs, A::Error> {
        let mut logs = Logs::default();
        while let Some(key) = map.next_key::<String>()? {
            match key == "logs" {
                true => logs = map.next_value::<Option<Lines>>()?.unwrap_or_default().0,
                false => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(logs)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Logs, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Logs::default())
    }

    fn visit_unit<E>(self) -> Result<Logs, E> {
        Ok(Logs::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Logs, E> {
        Ok(Logs::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Logs, E> {
        Ok(Logs::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Logs, E> {
        Ok(Logs::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Logs, E> {
        Ok(Logs::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Logs, E> {
        Ok(Logs::default())
    }
}

/// The first lines of a list.
#[derive(Default)]
struct Lines(Logs);

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LinesVisitor;
        impl<'de> Visitor<'de> for LinesVisitor {
            type Value = Lines;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of log lines")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Lines, A::Error> {
                let mut lines = Lines::default();
                while lines.0.0.len() < LOG_LINES_MAX {
                    let Some(line) = list.next_element()? else { return Ok(lines) };
                    lines.0.0.push(line);
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(lines)
            }
        }
        deserializer.deserialize_seq(LinesVisitor)
    }
}

/// A list of up to `MAX` items.
pub(super) struct AtMost<T, const MAX: usize>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for AtMost<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(AtMostVisitor::<T, MAX>(PhantomData))
    }
}

struct AtMostVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for AtMostVisitor<T, MAX> {
    type Value = AtMost<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of up to {MAX} items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            if items.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            items.push(item);
        }
        Ok(AtMost(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(answer: &str) -> String {
        let parsed = parse::<u64>(answer.as_bytes()).expect("it is an answer");
        parsed.expect_err("it is an error").to_string()
    }

    #[test]
    fn errors_have_the_log_lines_of_their_data() {
        let logs = r#"{"error":{"message":"m","data":{"err":[0],"logs":["a","b"]}},"result":null}"#;
        assert_eq!(error_of(logs), "m\n  a\n  b");
        for data in ["null", "1", "-1", "1.5", "\"a\"", "true", "[0,[1]]", "{}", r#"{"logs":null}"#]
        {
            let answer = format!(r#"{{"error":{{"message":"m","data":{data}}}}}"#);
            assert_eq!(error_of(&answer), "m", "{data}");
        }
    }

    #[test]
    fn lists_have_a_bound() {
        let list = |count: usize| format!("{{\"result\":[{}0]}}", "0,".repeat(count - 1));
        let parsed = |count| parse::<AtMost<u64, 3>>(list(count).as_bytes());
        assert_eq!(parsed(3).expect("it fits").expect("it is no error").0, [0; 3]);
        assert!(parsed(4).is_err());
    }
}
