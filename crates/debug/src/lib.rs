//! A debugger's model of a program: scopes, variables and types from debug information, values as
//! text, expressions, breakpoints; and the Debug Adapter Protocol.
//!
//! Everything here reads outside bytes: files, messages of editors, what a user types. Malformed
//! input gives errors or fewer answers; nothing is read outside the guest's memory, and every walk is
//! bounded.
//!
//! | module | what it owns |
//! |---|---|
//! | [`info`] | debug information: functions, inlined calls, variables, types, lines |
//! | [`value`] | values: where their bytes are, what they consist of, how they are shown |
//! | [`expr`] | expressions over values, registers and memory |
//! | [`history`] | the run that is debugged: its moments, events and writes |
//! | [`breakpoint`] | breakpoints, watches and filters |
//! | [`session`] | a position in a run, and the ways to another one |
//! | [`console`] | commands in the manner of gdb's |
//! | [`explorer`] | questions of pages in a browser, as JSON |
//! | [`debuggee`] | the transaction that is debugged, and its sources |
//! | [`dap`] | the Debug Adapter Protocol over a session |
//! | [`gdb`] | the remote protocol of gdb over a session |
//! | `contents` | where the bytes of a value are: in memory, in registers, nowhere |
//! | [`guest`] | the trait through which values are read |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod breakpoint;
pub mod console;
mod contents;
pub mod dap;
pub mod debuggee;
pub mod explorer;
pub mod expr;
pub mod gdb;
pub mod guest;
pub mod history;
pub mod info;
pub mod session;
pub mod value;

pub use crate::{
    breakpoint::{Breakpoint, BreakpointId, Filters, Place, Request, Watch},
    expr::{Expr, ExprError, Operand, Operands},
    guest::{Guest, Unreadable},
    history::{Activation, Event, EventKind, FrameId, History, Moment, ProgramFile},
    info::{DebugInfo, PathMap, Scope, Type, TypeRef, Variable},
    session::{Direction, Frame, Granularity, Motion, Reply, Session, Shown, StartAt, Stop, Word},
    value::{Contents, Format, Missing, Value, View},
};
