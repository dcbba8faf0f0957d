//! States as JSON, for everything that shows one: terminal, editor, browser.
//!
//! Numbers of 64 bits are hexadecimal text, since JavaScript has no such numbers; compute units,
//! steps and slots are numbers.

use selkie::{ReadableAccount as _, account_json};
use serde_json::{Value, json};

use crate::{
    index::Invocation,
    state::{CallFrame, Level, MemoryRegion, State},
    timeline::Timeline,
    writes::{Write, Writer},
};

impl State {
    /// Renders the state, without the contents of memory and accounts.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let accounts = self.accounts.iter().map(|(key, account)| {
            json!({
                "pubkey": key.to_string(),
                "lamports": account.lamports(),
                "owner": account.owner().to_string(),
                "space": account.data().len(),
            })
        });
        json!({
            "step": self.step,
            "levels": self.levels.iter().map(Level::to_json).collect::<Vec<_>>(),
            "logs": self.logs,
            "accounts": accounts.collect::<Vec<_>>(),
        })
    }

    /// Renders an account, in the format of `solana account --output json`.
    #[must_use]
    pub fn account_json(&self, index: usize) -> Option<Value> {
        let (key, account) = self.accounts.get(index)?;
        Some(account_json(key, account))
    }
}

impl Level {
    fn to_json(&self) -> Value {
        let frame = |frame: &CallFrame| {
            let saved = frame.saved.map(hexadecimal);
            json!({ "return_pc": frame.return_pc, "saved": saved })
        };
        let region = |region: &MemoryRegion| {
            json!({
                "name": region.name(),
                "vaddr": hexadecimal(region.vaddr),
                "len": region.bytes.len(),
                "writable": region.is_writable,
            })
        };
        json!({
            "invocation": self.invocation,
            "program": self.program.to_string(),
            "step": self.step,
            "pc": self.pc,
            "registers": self.registers.map(hexadecimal),
            "frames": self.frames.iter().map(frame).collect::<Vec<_>>(),
            "units_left": self.units_left,
            "regions": self.memory.regions.iter().map(region).collect::<Vec<_>>(),
            "accounts": self.accounts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}

impl Invocation {
    /// Renders the invocation.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "program": self.program.to_string(),
            "caller": self.caller,
            "instruction_index": self.instruction_index,
            "stack_height": self.stack_height,
            "first_step": self.steps.start,
            "end_step": self.steps.end,
            "called_at": self.call.map(|call| call.step),
            "compute_units": self.compute_units,
            "error": self.result.as_ref().err().map(ToString::to_string),
        })
    }
}

impl Write {
    /// Renders the write.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let bytes = |bytes: &[u8]| bytes.iter().map(|it| format!("{it:02x}")).collect::<String>();
        json!({
            "step": self.step,
            "invocation": self.invocation,
            "pc": self.pc,
            "syscall": match &self.writer {
                Writer::Instruction | Writer::Builtin(_) => None,
                Writer::Syscall(name) => Some(name),
            },
            "builtin": match &self.writer {
                Writer::Builtin(program) => Some(program.to_string()),
                Writer::Instruction | Writer::Syscall(_) => None,
            },
            "account": self.account.map(|it| json!({
                "pubkey": it.account.to_string(),
                "part": it.part.name(),
                "offset": it.offset,
                "len": it.len,
            })),
            "old": bytes(&self.old),
            "new": bytes(&self.new),
        })
    }
}

impl Timeline {
    /// Renders what the transaction consists of.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let receipt = self.receipt();
        json!({
            "id": self.id(),
            "steps": self.steps(),
            "invocations": self.invocations().iter().map(Invocation::to_json).collect::<Vec<_>>(),
            "compute_units": receipt.compute_units,
            "compute_unit_limit": receipt.compute_unit_limit,
            "error": receipt.result.as_ref().err().map(ToString::to_string),
            "differences": self.differences(),
        })
    }
}

fn hexadecimal(value: u64) -> String {
    format!("{value:#x}")
}
