//! The program of a suite vector: encoded instructions, or an ELF file.

use std::sync::Arc;

use selkie_elf::{ElfError, Executable, Functions, Syscalls};
use selkie_isa::{
    Version,
    symbol::{ENTRYPOINT, ENTRYPOINT_KEY},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BadVector, Check, Context, Missing, Verdict, check::bytes, config::SuiteConfig, context,
    vector::file_name,
};

/// The fields of a suite vector that give its program: instructions in `text`, the bytes or the name
/// of a file in `elf`, or the hash of a file in `elf_fnv`. `text` takes precedence, since a file
/// beside it is only its origin.
#[derive(Deserialize, Debug)]
pub(crate) struct ProgramCase {
    #[serde(default)]
    sbpf_version: u32,
    #[serde(default)]
    pub(crate) config: SuiteConfig,
    #[serde(default)]
    pub(crate) syscalls: Vec<String>,
    text: Option<String>,
    elf: Option<String>,
    elf_fnv: Option<Value>,
    #[serde(default)]
    entry_pc: u32,
    #[serde(default)]
    functions: Vec<(u32, u32, String)>,
}

/// The reason why a vector has no program to run.
pub(crate) enum NoProgram {
    /// The file is missing: the vector is skipped for this reason.
    Missing(Missing),
    /// The loader rejects the file.
    Rejected(ElfError),
}

impl NoProgram {
    /// Returns the verdict of a vector that expects a program.
    pub(crate) fn verdict(self) -> Result<Verdict, BadVector> {
        match self {
            Self::Missing(why) => Ok(why.into()),
            Self::Rejected(error) => {
                let mut check = Check::default();
                check.differ("load", "a program", error);
                check.finish()
            }
        }
    }
}

impl ProgramCase {
    /// Decodes or loads the program.
    ///
    /// # Errors
    /// If the vector has no program, or one that cannot be decoded.
    pub(crate) fn executable(
        &self,
        context: &Context,
    ) -> Result<Result<Executable, NoProgram>, BadVector> {
        if let Some(text) = &self.text {
            return Ok(Ok(self.decode(text)?));
        }
        let file = match (&self.elf, &self.elf_fnv) {
            (Some(file), _) => context::program(file, context),
            (None, Some(hash)) => {
                let name = file_name(hash)
                    .ok_or_else(|| BadVector("`elf_fnv` is not a hash".to_owned()))?;
                context.elf(&name).map(|bytes| bytes.to_vec())
            }
            (None, None) => {
                return Err(BadVector("it has neither `text` nor `elf` nor `elf_fnv`".to_owned()));
            }
        };
        let file = match file {
            Ok(file) => file,
            Err(why) => return Ok(Err(NoProgram::Missing(why))),
        };
        let environment = self.config.environment(self.syscalls());
        Ok(selkie_elf::load(&file, &environment).map_err(NoProgram::Rejected))
    }

    fn syscalls(&self) -> Arc<Syscalls> {
        Arc::new(Syscalls::new(self.syscalls.iter().map(String::as_str)))
    }

    fn decode(&self, text: &str) -> Result<Executable, BadVector> {
        let version = Version::from_e_flags(self.sbpf_version)
            .ok_or_else(|| format!("unknown sBPF version {}", self.sbpf_version))?;
        let mut functions = Functions::default();
        for (key, pc, name) in &self.functions {
            functions.register(*key, *pc, name.as_str()).map_err(BadVector::of)?;
        }
        // A program without a function `entrypoint` gets one (anza sbpf: `elf.rs`,
        // `new_from_text_bytes`).
        if !functions.iter().any(|(_, function)| function.name == ENTRYPOINT) {
            let key = if version.static_calls() { self.entry_pc } else { ENTRYPOINT_KEY };
            let added = functions.register(key, self.entry_pc, ENTRYPOINT);
            added.map_err(BadVector::of)?;
        }
        Executable::from_text(version, bytes(text)?, self.entry_pc, functions, self.syscalls())
            .map_err(BadVector::of)
    }
}
