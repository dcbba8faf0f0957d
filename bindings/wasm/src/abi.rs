//! What the module exports: a page asks for room, writes a question there, and reads the answer.
//!
//! ```text
//! at = selkie_room(bytes)       the page writes the question, in UTF-8, to `at`
//! bytes = selkie_answer()       the answer has so many bytes, from
//! selkie_text()                 here on; both places are valid until the next call of `selkie_room`
//! ```
//!
//! A panic, which would be an error of ours, ends the instance: the page starts another one.

#![allow(unsafe_code, reason = "the names of exports are not mangled")]

use std::cell::RefCell;

use crate::workbench::Workbench;

#[derive(Default)]
struct Exchange {
    workbench: Workbench,
    question: Vec<u8>,
    answer: String,
}

thread_local! {
    static EXCHANGE: RefCell<Exchange> = RefCell::default();
}

// SAFETY: no other function of the module has one of these names.
#[unsafe(no_mangle)]
extern "C" fn selkie_room(bytes: usize) -> *const u8 {
    EXCHANGE.with_borrow_mut(|it| {
        it.question = vec![0; bytes];
        it.question.as_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn selkie_answer() -> usize {
    EXCHANGE.with_borrow_mut(|it| {
        let question = core::mem::take(&mut it.question);
        it.answer = it.workbench.answer(&String::from_utf8_lossy(&question));
        it.answer.len()
    })
}

#[unsafe(no_mangle)]
extern "C" fn selkie_text() -> *const u8 {
    EXCHANGE.with_borrow(|it| it.answer.as_ptr())
}
