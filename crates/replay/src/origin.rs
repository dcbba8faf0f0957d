//! Who wrote a value, wherever that was: accounts are followed into the programs that an instruction
//! invoked, to the program that invoked it, and to the instructions before it.

use core::ops::{ControlFlow, Range};

use selkie::{
    AccountSharedData, InstructionError, InvokeContext, Pubkey, runtime::input::AccountLayout,
};

use crate::{
    account_bytes::{AccountBytes, Part},
    index::Invocation,
    timeline::Timeline,
    visit::{ReachedStep, Visitor},
    writes::{Write, Writer},
};

/// What the syscalls that invoke other programs are called, up to the names of their conventions.
const INVOKE: &str = "sol_invoke_signed";

/// Where an invocation sees its accounts, and how they were when it began and when it ended.
#[derive(Default)]
struct Seen {
    layouts: Vec<(Pubkey, AccountLayout)>,
    before: Vec<(Pubkey, AccountSharedData)>,
    after: Vec<(Pubkey, AccountSharedData)>,
}

impl Seen {
    /// Returns the bytes of an account that are at an address, as far as they are in the same part.
    fn account_bytes(&self, vaddr: u64, len: u64) -> Option<AccountBytes> {
        self.layouts.iter().find_map(|(account, layout)| {
            let part = Part::ALL.into_iter().find(|it| it.addresses(layout).contains(&vaddr))?;
            let Range { start, end } = part.addresses(layout);
            let (offset, len) = (vaddr.saturating_sub(start), len.min(end.saturating_sub(vaddr)));
            Some(AccountBytes { account: *account, part, offset, len })
        })
    }

    /// Returns the address at which the invocation sees bytes of an account.
    fn address_of(&self, bytes: &AccountBytes) -> Option<u64> {
        let (_, layout) = self.layouts.iter().find(|(account, _)| *account == bytes.account)?;
        let Range { start, end } = bytes.part.addresses(layout);
        start.checked_add(bytes.offset).filter(|it| *it < end)
    }

    /// Returns bytes of an account before and after the invocation.
    fn change(&self, bytes: &AccountBytes) -> Option<(Vec<u8>, Vec<u8>)> {
        let read = |accounts: &[(Pubkey, AccountSharedData)]| {
            let (_, account) = accounts.iter().find(|(key, _)| *key == bytes.account)?;
            let offset = usize::try_from(bytes.offset).ok()?;
            let len = usize::try_from(bytes.len).ok()?;
            let all = bytes.part.bytes(account);
            Some(all.into_iter().skip(offset).take(len).collect::<Vec<u8>>())
        };
        let (old, new) = (read(&self.before)?, read(&self.after)?);
        (old != new).then_some((old, new))
    }
}

/// Looks at the accounts of all invocations.
#[derive(Default)]
struct Survey {
    invocations: Vec<Seen>,
}

fn accounts(context: &InvokeContext<'_>) -> Vec<(Pubkey, AccountSharedData)> {
    context.accounts().iter().map(|it| (it.key, it.account.clone())).collect()
}

impl Visitor for Survey {
    fn enter(&mut self, invocation: usize, context: &InvokeContext<'_>) {
        self.invocations.resize_with(invocation.saturating_add(1), Seen::default);
        if let Some(seen) = self.invocations.get_mut(invocation) {
            seen.before = accounts(context);
        }
    }

    fn leave(
        &mut self,
        invocation: usize,
        context: &InvokeContext<'_>,
        _: &Result<(), InstructionError>,
    ) {
        if let Some(seen) = self.invocations.get_mut(invocation) {
            seen.after = accounts(context);
        }
    }

    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        if let Some(seen) = self.invocations.get_mut(moment.invocation)
            && seen.layouts.is_empty()
            && let Some((layout, _)) = moment.context.running()
        {
            let found = layout.accounts();
            let keyed =
                found.filter_map(|(index, at)| Some((moment.context.key(index).ok()?, *at)));
            seen.layouts = keyed.collect();
        }
        ControlFlow::Continue(())
    }
}

impl Timeline {
    /// Returns the last write to any of `len` bytes at an address of an invocation's memory, before
    /// `step`, like [`Timeline::last_write`], and follows accounts to where the bytes come from: a
    /// program that the invocation invoked, the one that invoked it, or an instruction before it.
    ///
    /// `None` if the bytes are as they were before the transaction, or no part of an account and as they
    /// were when the invocation began.
    #[must_use]
    pub fn last_write_anywhere(
        &self,
        step: u64,
        invocation: usize,
        vaddr: u64,
        len: u64,
    ) -> Option<Write> {
        let own = self.last_write(step, invocation, vaddr, len);
        if own.as_ref().is_some_and(|write| !is_invoke(write)) {
            return own;
        }
        let mut survey = Survey::default();
        self.visit(&mut survey);
        let chase = Chase { timeline: self, seen: &survey.invocations };
        let bytes = chase.seen(invocation)?.account_bytes(vaddr, len);
        match (own, bytes) {
            (Some(write), Some(bytes)) => Some(chase.follow_call(write, &bytes)),
            (None, Some(bytes)) => chase.back_from(invocation, &bytes),
            (own, None) => own,
        }
    }
}

fn is_invoke(write: &Write) -> bool {
    matches!(&write.writer, Writer::Syscall(name) if name.starts_with(INVOKE))
}

/// Follows bytes of an account.
struct Chase<'a> {
    timeline: &'a Timeline,
    seen: &'a [Seen],
}

impl Chase<'_> {
    fn seen(&self, invocation: usize) -> Option<&Seen> {
        self.seen.get(invocation)
    }

    fn invocations(&self) -> &[Invocation] {
        self.timeline.invocations()
    }

    /// Returns the write in the program that a syscall has invoked, or that of the syscall if it is not
    /// the program's.
    fn follow_call(&self, write: Write, bytes: &AccountBytes) -> Write {
        let is_callee = |it: &Invocation| {
            let step = it.call.map(|call| call.step);
            it.caller == Some(write.invocation) && step == Some(write.step)
        };
        let callee = self.invocations().iter().rposition(is_callee);
        let found = callee.and_then(|callee| self.within(callee, bytes));
        found.unwrap_or(Write { account: Some(*bytes), ..write })
    }

    /// Returns the last write of an invocation that has ended, or of those that it made.
    fn within(&self, invocation: usize, bytes: &AccountBytes) -> Option<Write> {
        let it = self.invocations().get(invocation)?;
        if it.steps.is_empty() {
            let (old, new) = self.seen(invocation)?.change(bytes)?;
            let step = it.call.map_or(it.steps.start, |call| call.step);
            let (writer, account) = (Writer::Builtin(it.program), Some(*bytes));
            return Some(Write { step, invocation, pc: 0, writer, old, new, account });
        }
        self.before(it.steps.end, invocation, bytes)
    }

    /// Returns the last write before a step of an invocation, its own or of those that it made.
    fn before(&self, step: u64, invocation: usize, bytes: &AccountBytes) -> Option<Write> {
        let vaddr = self.seen(invocation)?.address_of(bytes)?;
        let write = self.timeline.last_write(step, invocation, vaddr, bytes.len)?;
        match is_invoke(&write) {
            true => Some(self.follow_call(write, bytes)),
            false => Some(Write { account: Some(*bytes), ..write }),
        }
    }

    /// Returns the last write before an invocation began.
    fn back_from(&self, mut invocation: usize, bytes: &AccountBytes) -> Option<Write> {
        while let Some(it) = self.invocations().get(invocation)
            && let (Some(caller), Some(call)) = (it.caller, it.call)
        {
            if let Some(write) = self.before(call.step, caller, bytes) {
                return Some(write);
            }
            invocation = caller;
        }
        let earlier = self.invocations().iter().enumerate().take(invocation).rev();
        let mut top_level = earlier.filter(|(_, it)| it.caller.is_none());
        top_level.find_map(|(index, _)| self.within(index, bytes))
    }
}
