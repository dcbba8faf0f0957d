//! The arguments of requests. Editors leave out what they do not need, and some send `null`.

use selkie_isa::failure::{Failure, OrFailure as _};
use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::session::StartAt;

/// Reads arguments. Missing ones and `null` are an object without fields.
pub(super) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, Failure> {
    let mut arguments = arguments.clone();
    if arguments.is_null() {
        arguments = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(fields) = &mut arguments {
        fields.retain(|_, value| !value.is_null());
    }
    serde_json::from_value(arguments)
        .map_err(|error| format!("malformed arguments: {error}"))
        .or_failure()
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Initialize {
    #[serde(rename = "linesStartAt1")]
    pub(super) lines_start_at_1: bool,
    #[serde(rename = "columnsStartAt1")]
    pub(super) columns_start_at_1: bool,
}

impl Default for Initialize {
    fn default() -> Self {
        Self { lines_start_at_1: true, columns_start_at_1: true }
    }
}

/// The configuration with which an editor starts a session.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub struct LaunchArguments {
    /// The replay file, a folder of recordings, or a transaction's signature; where the newest failure
    /// of a test is if it is empty.
    pub replay: String,
    /// The name of the test that made the transaction, or a part of it.
    pub test: Option<String>,
    /// Where the transaction with the signature is taken from: the URL of a node.
    pub url: Option<String>,
    /// The number of the transaction, from 0; the first one that failed if it is missing.
    pub transaction: Option<usize>,
    /// Files and folders with debug information of programs.
    pub symbols: Vec<String>,
    /// Recorded path prefixes, and the folders here that have the same files.
    pub source_map: BTreeMap<String, String>,
    /// Where to begin: at the failure of a transaction that failed, unless it says otherwise.
    pub start_at: Option<StartAt>,
    /// Whether to stop where the session begins, and not at the first breakpoint.
    pub stop_on_entry: bool,
    /// Whether steps stop in the standard library and in other packages.
    pub step_into_libraries: bool,
    /// What an adapter that others can connect to asks for, too.
    pub token: Option<String>,
    /// The folder that relative paths are in.
    pub cwd: Option<String>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Source {
    pub(super) path: Option<String>,
    pub(super) source_reference: Option<i64>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SourceBreakpoint {
    pub(super) line: i64,
    pub(super) condition: Option<String>,
    pub(super) hit_condition: Option<String>,
    pub(super) log_message: Option<String>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(super) struct SetBreakpoints {
    pub(super) source: Source,
    pub(super) breakpoints: Vec<SourceBreakpoint>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct NamedBreakpoint {
    pub(super) name: String,
    pub(super) instruction_reference: String,
    pub(super) data_id: String,
    pub(super) offset: i64,
    pub(super) condition: Option<String>,
    pub(super) hit_condition: Option<String>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(super) struct SetNamedBreakpoints {
    pub(super) breakpoints: Vec<NamedBreakpoint>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FilterOption {
    pub(super) filter_id: String,
    pub(super) condition: Option<String>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SetExceptionBreakpoints {
    pub(super) filters: Vec<String>,
    pub(super) filter_options: Vec<FilterOption>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DataBreakpointInfo {
    pub(super) variables_reference: u64,
    pub(super) frame_id: Option<u64>,
    pub(super) name: String,
    pub(super) bytes: Option<u64>,
    pub(super) as_address: bool,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Lines {
    pub(super) source: Source,
    pub(super) line: i64,
    pub(super) end_line: Option<i64>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Step {
    pub(super) granularity: Option<String>,
    pub(super) target_id: Option<u64>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StackTrace {
    pub(super) start_frame: usize,
    pub(super) levels: usize,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Scopes {
    pub(super) frame_id: u64,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(super) struct ValueFormat {
    pub(super) hex: bool,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Variables {
    pub(super) variables_reference: u64,
    pub(super) start: u64,
    pub(super) count: u64,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Evaluate {
    pub(super) expression: String,
    pub(super) frame_id: Option<u64>,
    pub(super) context: Option<String>,
    pub(super) format: ValueFormat,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SetVariable {
    pub(super) variables_reference: u64,
    pub(super) name: String,
    pub(super) value: String,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SetExpression {
    pub(super) expression: String,
    pub(super) value: String,
    pub(super) frame_id: Option<u64>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Memory {
    pub(super) memory_reference: String,
    pub(super) offset: i64,
    pub(super) count: usize,
    pub(super) instruction_offset: i64,
    pub(super) instruction_count: usize,
    pub(super) data: String,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SourceRequest {
    pub(super) source: Source,
    pub(super) source_reference: i64,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Completions {
    pub(super) text: String,
    pub(super) column: usize,
    pub(super) frame_id: Option<u64>,
}
