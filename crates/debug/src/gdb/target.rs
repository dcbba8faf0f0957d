//! The requests of the protocol.

use core::convert::Infallible;

use gdbstub::{
    common::Signal,
    target::{
        Target, TargetError, TargetResult,
        ext::{
            base::{
                BaseOps,
                reverse_exec::{ReverseCont, ReverseContOps, ReverseStep, ReverseStepOps},
                singlethread::{
                    SingleThreadBase, SingleThreadResume, SingleThreadResumeOps,
                    SingleThreadSingleStep, SingleThreadSingleStepOps,
                },
            },
            breakpoints::{
                Breakpoints, BreakpointsOps, HwWatchpoint, HwWatchpointOps, SwBreakpoint,
                SwBreakpointOps, WatchKind,
            },
            exec_file::ExecFileOps,
            host_io::HostIoOps,
            libraries::LibrariesOps,
            monitor_cmd::{ConsoleOutput, MonitorCmd, MonitorCmdOps},
            target_description_xml_override::TargetDescriptionXmlOverrideOps,
        },
    },
};

use super::{
    files::Files,
    machine::Machine,
    registers::{Riscv, Values},
};
use crate::session::{Direction, Motion};

/// The error of a request that cannot be done: the protocol has no texts.
const EFAULT: u8 = 14;

/// The other side of gdb's conversation.
pub(super) struct Remote {
    machine: Machine,
    pub(super) files: Files,
}

impl Remote {
    pub(super) fn new(mut machine: Machine) -> Self {
        Self { files: Files::of(&mut machine), machine }
    }

    pub(super) fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }
}

impl Target for Remote {
    type Arch = Riscv;
    type Error = Infallible;

    fn base_ops(&mut self) -> BaseOps<'_, Riscv, Infallible> {
        BaseOps::SingleThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(
        &mut self,
    ) -> Option<TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }

    fn support_host_io(&mut self) -> Option<HostIoOps<'_, Self>> {
        Some(self)
    }

    fn support_exec_file(&mut self) -> Option<ExecFileOps<'_, Self>> {
        Some(self)
    }

    fn support_libraries(&mut self) -> Option<LibrariesOps<'_, Self>> {
        Some(self)
    }
}

impl SingleThreadBase for Remote {
    fn read_registers(&mut self, registers: &mut Values) -> TargetResult<(), Self> {
        *registers = self.machine.registers();
        Ok(())
    }

    fn write_registers(&mut self, registers: &Values) -> TargetResult<(), Self> {
        self.machine.set_registers(registers).map_err(|_| TargetError::Errno(EFAULT))
    }

    fn read_addrs(&mut self, start: u64, bytes: &mut [u8]) -> TargetResult<usize, Self> {
        match self.machine.read(start, bytes) {
            0 => Err(TargetError::Errno(EFAULT)),
            len => Ok(len),
        }
    }

    fn write_addrs(&mut self, start: u64, bytes: &[u8]) -> TargetResult<(), Self> {
        self.machine.write(start, bytes).map_err(|_| TargetError::Errno(EFAULT))
    }

    fn support_resume(&mut self) -> Option<SingleThreadResumeOps<'_, Self>> {
        Some(self)
    }
}

impl SingleThreadResume for Remote {
    fn resume(&mut self, _: Option<Signal>) -> Result<(), Infallible> {
        self.machine.go(Motion::Continue, Direction::Forward);
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<SingleThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_reverse_step(&mut self) -> Option<ReverseStepOps<'_, (), Self>> {
        Some(self)
    }

    fn support_reverse_cont(&mut self) -> Option<ReverseContOps<'_, (), Self>> {
        Some(self)
    }
}

impl SingleThreadSingleStep for Remote {
    fn step(&mut self, _: Option<Signal>) -> Result<(), Infallible> {
        self.machine.go(Motion::InProgram, Direction::Forward);
        Ok(())
    }
}

impl ReverseStep<()> for Remote {
    fn reverse_step(&mut self, (): ()) -> Result<(), Infallible> {
        self.machine.go(Motion::InProgram, Direction::Backward);
        Ok(())
    }
}

impl ReverseCont<()> for Remote {
    fn reverse_cont(&mut self) -> Result<(), Infallible> {
        self.machine.go(Motion::Continue, Direction::Backward);
        Ok(())
    }
}

impl Breakpoints for Remote {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for Remote {
    fn add_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.machine.add_breakpoint(address);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.machine.remove_breakpoint(address);
        Ok(true)
    }
}

impl HwWatchpoint for Remote {
    fn add_hw_watchpoint(
        &mut self,
        address: u64,
        len: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let is_write = kind == WatchKind::Write;
        if is_write {
            self.machine.add_watch(address, len);
        }
        Ok(is_write)
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u64,
        _: u64,
        _: WatchKind,
    ) -> TargetResult<bool, Self> {
        self.machine.remove_watch(address);
        Ok(true)
    }
}

impl MonitorCmd for Remote {
    fn handle_monitor_cmd(
        &mut self,
        command: &[u8],
        mut output: ConsoleOutput<'_>,
    ) -> Result<(), Infallible> {
        let text = self.machine.command(&String::from_utf8_lossy(command));
        output.write_raw(text.as_bytes());
        Ok(())
    }
}
