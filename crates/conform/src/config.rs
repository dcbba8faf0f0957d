//! The engine configuration of the suite's vectors: the fields of solana-sbpf's `Config` that change
//! what a program does, with the same defaults.

use std::sync::Arc;

use selkie_elf::{Environment, Syscalls};
use selkie_isa::Version;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// solana-sbpf's `Config`, without the fields that configure its JIT.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct SuiteConfig {
    /// The maximum call depth.
    pub max_call_depth: usize,
    /// The size in bytes of a stack frame.
    pub stack_frame_size: u64,
    /// Whether guest addresses are translated. Ignored: Selkie always translates.
    pub enable_address_translation: bool,
    /// Whether unmapped gaps separate the stack frames of V0.
    pub enable_stack_frame_gaps: bool,
    /// Whether instructions are metered.
    pub enable_instruction_meter: bool,
    /// Whether the names of symbols and sections are kept for listings.
    pub enable_symbol_and_section_labels: bool,
    /// Whether ELF files with unresolved symbols are rejected.
    pub reject_broken_elfs: bool,
    /// Whether read-only data are borrowed from the file rather than copied, where possible.
    pub optimize_rodata: bool,
    /// Whether each region begins at a multiple of 4 GiB.
    pub aligned_memory_mapping: bool,
    /// The sBPF versions that are enabled.
    pub enabled_sbpf_versions: EnabledVersions,
}

impl Default for SuiteConfig {
    fn default() -> Self {
        Self {
            max_call_depth: 64,
            stack_frame_size: 4096,
            enable_address_translation: true,
            enable_stack_frame_gaps: true,
            enable_instruction_meter: true,
            enable_symbol_and_section_labels: false,
            reject_broken_elfs: false,
            optimize_rodata: true,
            aligned_memory_mapping: false,
            enabled_sbpf_versions: EnabledVersions(Version::V0, Version::V4),
        }
    }
}

impl SuiteConfig {
    /// Returns the configuration of the virtual machine.
    #[must_use]
    pub fn vm(&self) -> selkie_vm::Config {
        selkie_vm::Config {
            call_depth_max: self.max_call_depth,
            stack_frame_bytes: self.stack_frame_size,
            stack_frame_gaps: self.enable_stack_frame_gaps,
            aligned_memory: self.aligned_memory_mapping,
            metered: self.enable_instruction_meter,
        }
    }

    /// Returns the environment to load programs in, with these syscalls.
    #[must_use]
    pub fn environment(&self, syscalls: Arc<Syscalls>) -> Environment {
        let EnabledVersions(min, max) = self.enabled_sbpf_versions;
        Environment {
            versions: min..=max,
            syscalls,
            reject_broken_elfs: self.reject_broken_elfs,
            optimize_rodata: self.optimize_rodata,
            labels: self.enable_symbol_and_section_labels,
            text_at_stack: false,
        }
    }
}

/// The first and the last enabled version. Vectors write `[0, 3]`, `"V0..=V3"` or
/// `{"start": …, "end": …}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnabledVersions(pub Version, pub Version);

impl<'de> Deserialize<'de> for EnabledVersions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let ends = match &value {
            Value::Array(items) => {
                items.first().zip(items.last()).map(|(a, b)| (version(a), version(b)))
            }
            Value::Object(fields) => {
                let field =
                    |names: [&str; 2]| names.iter().find_map(|it| version(fields.get(*it)?));
                Some((field(["start", "min"]), field(["end", "max"])))
            }
            Value::String(text) => {
                let (min, max) = text.split_once("..=").unwrap_or((text, text));
                Some((min.trim().parse().ok(), max.trim().parse().ok()))
            }
            _ => None,
        };
        match ends {
            Some((Some(min), Some(max))) => Ok(Self(min, max)),
            _ => Err(D::Error::custom(format!("not a range of sBPF versions: {value}"))),
        }
    }
}

fn version(value: &Value) -> Option<Version> {
    match value {
        Value::Number(number) => Version::from_e_flags(u32::try_from(number.as_u64()?).ok()?),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ranges_of_versions_are_read_in_every_notation() {
        let expected = EnabledVersions(Version::V0, Version::V3);
        for text in [json!([0, 3]), json!(["V0", "V3"]), json!("V0..=V3"), json!([0, 1, 2, 3])] {
            assert_eq!(serde_json::from_value::<EnabledVersions>(text).unwrap(), expected);
        }
        for text in [json!({"start": "V0", "end": "V3"}), json!({"min": 0, "max": 3})] {
            assert_eq!(serde_json::from_value::<EnabledVersions>(text).unwrap(), expected);
        }
        assert!(serde_json::from_value::<EnabledVersions>(json!([0, 9])).is_err());
    }

    #[test]
    fn missing_fields_have_the_defaults_of_solana_sbpf() {
        let config: SuiteConfig = serde_json::from_value(json!({"max_call_depth": 4})).unwrap();
        assert_eq!((config.max_call_depth, config.optimize_rodata), (4, true));
    }
}
