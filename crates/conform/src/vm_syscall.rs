//! Kind `vm_syscall`: a syscall with the memory and the instruction that it is called in, and its
//! result according to agave's harness.
//!
//! The calling program has the address 0707..07.

use std::sync::Arc;

use selkie_case::{Case, CaseOptions, INSTRUCTION_BUDGET, Input};
use selkie_svm::{
    AccountMeta, ComputeBudget, Instruction, Loader, Pubkey, ReturnData, Syscall, syscalls,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BadVector, Check, Context, Verdict, runtime,
    syscall_case::{Expected, SyscallCase, program},
    vector::{Hex, Hex64, Key, VectorAccount, is_kind},
};

const PROGRAM: Pubkey = Pubkey::new_from_array([7; 32]);

#[derive(Deserialize)]
struct Vector {
    syscall: String,
    profile: String,
    loader: String,
    #[serde(default)]
    accounts: Vec<VectorAccount>,
    #[serde(default)]
    metas: Vec<(Key, bool, bool)>,
    #[serde(default)]
    data: Hex,
    #[serde(default)]
    cu: u64,
    #[serde(default)]
    heap_max: u64,
    #[serde(default)]
    heap: Hex,
    #[serde(default)]
    stack: Hex,
    #[serde(default)]
    rodata: Hex,
    #[serde(default)]
    args: Vec<Hex64>,
    return_data: Option<(Key, Hex)>,
    exp: Expected,
}

/// Returns whether a line is of this kind.
#[must_use]
pub fn matches(line: &Value) -> bool {
    let has = |field| line.get(field).is_some();
    is_kind(line, "vm_syscall") || has("syscall") && has("loader") && has("exp")
}

/// Calls the syscall and compares its result, the compute units left, and the memory.
///
/// # Errors
/// If the vector is unreadable.
pub fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let vector = Vector::deserialize(line)?;
    let Some(syscall) = syscalls::find(&vector.syscall) else {
        let why = format!("syscall {} is not supported yet", vector.syscall);
        return Ok(Verdict::Skipped(why));
    };
    if vector.syscall == "sol_big_mod_exp" && vector.exp.is_stub(vector.cu) {
        let why = "recorded when sol_big_mod_exp was a stub that returned 1";
        return Ok(Verdict::Skipped(why.to_owned()));
    }
    let expected = vector.exp.clone();
    let mut check = Check::default();
    vector.case(syscall, context)?.check(&mut check, &expected)?;
    check.finish()
}

impl Vector {
    fn case(self, syscall: &'static Syscall, context: &Context) -> Result<SyscallCase, BadVector> {
        let loaders = ["v1", "v2", "v3", "v4"].into_iter().zip(Loader::ALL);
        let loader = loaders.into_iter().find(|(name, _)| *name == self.loader);
        let (_, loader) = loader.ok_or_else(|| format!("unknown loader {}", self.loader))?;
        let features = context.features(&self.profile)?.features();
        let accounts: Vec<_> = self.accounts.iter().map(VectorAccount::account).collect();
        let mut sysvars = context.sysvars().clone();
        for (address, account) in &accounts {
            // Setting fails only for accounts that are not sysvars.
            let _ = sysvars.set(*address, &account.data);
        }
        let meta = |(Key(pubkey), is_signer, is_writable): &(Key, bool, bool)| AccountMeta {
            pubkey: *pubkey,
            is_signer: *is_signer,
            is_writable: *is_writable,
        };
        let instruction = Instruction {
            program_id: PROGRAM,
            accounts: self.metas.iter().map(meta).collect(),
            data: self.data.0,
        };
        let mut arguments = [0; 5];
        arguments.iter_mut().zip(&self.args).for_each(|(argument, given)| *argument = given.0);
        let return_data = self.return_data;
        let budget = ComputeBudget { compute_unit_limit: self.cu, ..INSTRUCTION_BUDGET };
        let case = Case {
            environment: Arc::new(runtime::environment(features, sysvars)),
            accounts: accounts
                .into_iter()
                .rev()
                .map(|(key, account)| (key, account.into()))
                .collect(),
            input: Input::Instructions { instructions: vec![instruction], given: Vec::new() },
            options: CaseOptions { budget: Some(budget), ..CaseOptions::default() },
            ..Case::default()
        };
        let mut case = context.ruled(case);
        runtime::load_programs(&mut case);
        let program = program(loader, features)?;
        Arc::make_mut(&mut case.environment).programs.insert(PROGRAM, program);
        Ok(SyscallCase {
            case,
            syscall,
            arguments,
            heap_bytes: self.heap_max,
            heap: self.heap.0,
            stack: self.stack.0,
            rodata: self.rodata.0,
            return_data: return_data
                .map(|(Key(program_id), Hex(data))| ReturnData { program_id, data }),
        })
    }
}
