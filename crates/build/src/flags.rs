//! Flags of rustc that the user has set: in the environment, or in cargo's configuration.
//!
//! Cargo takes them from one place: `CARGO_ENCODED_RUSTFLAGS`, `RUSTFLAGS`, the target's `rustflags` or
//! `build.rustflags`, in this order. Most are for the host, such as its processor and its linker. Those that
//! programs may have are conditions, lints and a few settings of code generation.

use std::{env, path::Path, process::Command};

use serde_json::Value;

/// Settings of code generation (`-C`) that programs may have.
const SETTINGS: &[&str] =
    &["opt-level", "overflow-checks", "debug-assertions", "debuginfo", "inline-threshold"];

/// Flags with a value in the next word, or behind `=`.
const WITH_VALUE: &[&str] = &["--cfg", "--check-cfg", "--cap-lints"];

/// Lint levels, whose lint is in the next word or in the same.
const LINT_LEVELS: &[&str] = &["-A", "-W", "-D", "-F", "--allow", "--warn", "--deny", "--forbid"];

/// The user's flags.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Flags {
    /// Those for programs.
    pub(crate) kept: Vec<String>,
    /// Those that are left out, as they were written.
    pub(crate) left_out: Vec<String>,
    /// Where they are from.
    pub(crate) origin: String,
}

impl Flags {
    /// Reads the flags that cargo would use in the current folder.
    #[allow(clippy::disallowed_methods, reason = "cargo's own variables")]
    pub(crate) fn read(cargo: Command) -> Self {
        if let Some(encoded) = env::var("CARGO_ENCODED_RUSTFLAGS").ok().filter(|it| !it.is_empty())
        {
            let words = encoded.split('\u{1f}').map(str::to_owned).collect();
            return Self::of(words, "CARGO_ENCODED_RUSTFLAGS");
        }
        match env::var("RUSTFLAGS") {
            Ok(flags) => {
                Self::of(flags.split_whitespace().map(str::to_owned).collect(), "RUSTFLAGS")
            }
            Err(_) => configured(cargo).map(|it| Self::in_config(&it)).unwrap_or_default(),
        }
    }

    fn in_config(config: &Value) -> Self {
        let targets = config["target"].as_object().into_iter().flatten();
        // A condition that names Solana holds for no host.
        let of_solana =
            targets.filter(|(name, _)| name.contains("solana") || name.contains("\"sbf\""));
        let for_target: Vec<String> =
            of_solana.flat_map(|(_, it)| words(&it["rustflags"])).collect();
        match for_target.is_empty() {
            true => Self::of(words(&config["build"]["rustflags"]), "build.rustflags"),
            false => Self::of(for_target, "target.*.rustflags"),
        }
    }

    fn of(words: Vec<String>, origin: &str) -> Self {
        let mut flags = Self { origin: origin.to_owned(), ..Self::default() };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let takes_next = word == "-C"
                || word == "-Z"
                || word == "-L"
                || word == "-l"
                || WITH_VALUE.contains(&&*word)
                || LINT_LEVELS.contains(&&*word);
            let value = if takes_next { words.next() } else { None };
            let written: Vec<String> = [word].into_iter().chain(value).collect();
            match is_for_programs(&written) {
                true => flags.kept.extend(written),
                false => flags.left_out.push(written.join(" ")),
            }
        }
        flags
    }
}

/// Returns the configuration that cargo reads from its files.
fn configured(mut cargo: Command) -> Option<Value> {
    cargo.args(["-Zunstable-options", "config", "get", "--format", "json"]);
    let output = cargo.env("RUSTC_BOOTSTRAP", "1").output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Returns the words of a setting, which is a list or a text.
fn words(value: &Value) -> Vec<String> {
    let list = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    let text = value.as_str().into_iter().flat_map(str::split_whitespace);
    list.chain(text).map(str::to_owned).collect()
}

fn is_for_programs(flag: &[String]) -> bool {
    let first = flag[0].as_str();
    let setting = match (first, flag.get(1)) {
        ("-C", Some(setting)) => Some(setting.as_str()),
        _ => first.strip_prefix("-C").or_else(|| first.strip_prefix("--codegen=")),
    };
    if let Some(setting) = setting {
        return SETTINGS.contains(&setting.split('=').next().unwrap_or_default());
    }
    let is_long = |it: &&&str| first == **it || first.starts_with(&format!("{it}="));
    let is_joined = |it: &&&str| it.len() == 2 && first.starts_with(**it);
    WITH_VALUE.iter().any(|it| is_long(&it))
        || LINT_LEVELS.iter().any(|it| is_long(&it) || is_joined(&it))
}

/// Returns a note about flags that are left out, if there are any.
pub(crate) fn note(flags: &Flags, manifest: &Path) -> Option<String> {
    let Flags { left_out, origin, .. } = flags;
    (!left_out.is_empty()).then(|| {
        format!(
            "note: {origin} is for this machine, so the program is compiled without `{}`\n      settings \
             of the program belong to [profile.release] in {}\n",
            left_out.join(" "),
            manifest.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, kept: &str, left_out: &[&str]) {
        let flags = Flags::of(given.split_whitespace().map(str::to_owned).collect(), "RUSTFLAGS");
        assert_eq!(flags.kept.join(" "), kept);
        assert_eq!(flags.left_out, left_out);
    }

    #[test]
    fn flags_of_programs_are_told_from_those_of_the_host() {
        check("--cfg fast -D warnings -Aunused", "--cfg fast -D warnings -Aunused", &[]);
        check("--cfg=a --check-cfg cfg(a)", "--cfg=a --check-cfg cfg(a)", &[]);
        check("-C overflow-checks=on -Copt-level=s", "-C overflow-checks=on -Copt-level=s", &[]);
        check(
            "-C target-cpu=native --cfg a -Clink-arg=-fuse-ld=mold -Zthreads=8 -L native=/lib",
            "--cfg a",
            &["-C target-cpu=native", "-Clink-arg=-fuse-ld=mold", "-Zthreads=8", "-L native=/lib"],
        );
        check("-C", "", &["-C"]);
    }

    #[test]
    fn flags_of_the_target_come_before_those_of_all_builds() {
        let config =
            |text: &str| Flags::in_config(&serde_json::from_str(text).expect("it is JSON"));
        let build = r#""build": { "rustflags": "--cfg all" }"#;
        let both = config(&format!(
            r#"{{ {build}, "target": {{ "cfg(target_os = \"solana\")": {{ "rustflags": ["--cfg", "it"] }},
                "cfg(unix)": {{ "rustflags": ["--cfg", "unix"] }} }} }}"#
        ));
        assert_eq!(both.kept, ["--cfg", "it"]);
        assert_eq!(config(&format!("{{ {build} }}")).kept, ["--cfg", "all"]);
        assert_eq!(
            config("{}"),
            Flags { origin: "build.rustflags".to_owned(), ..Flags::default() }
        );
    }
}
