//! Results of tests: what test harnesses print, and JUnit's XML.

mod harness;
pub mod junit;
mod message;

pub use self::{
    harness::{Harness, Outcome, TestResult},
    message::message,
};
