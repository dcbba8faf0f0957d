//! The requests by which gdb fetches descriptions and files.

use gdbstub::{
    common::Pid,
    target::{
        TargetError, TargetResult,
        ext::{
            exec_file::ExecFile,
            host_io::{
                FsKind, HostIo, HostIoClose, HostIoCloseOps, HostIoErrno, HostIoError, HostIoFstat,
                HostIoFstatOps, HostIoOpen, HostIoOpenFlags, HostIoOpenMode, HostIoOpenOps,
                HostIoPread, HostIoPreadOps, HostIoResult, HostIoSetfs, HostIoSetfsOps, HostIoStat,
            },
            libraries::Libraries,
            target_description_xml_override::TargetDescriptionXmlOverride,
        },
    },
};

use super::{
    files::{RUNTIME, part},
    target::Remote,
};

impl TargetDescriptionXmlOverride for Remote {
    fn target_description_xml(
        &self,
        annex: &[u8],
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        match annex {
            b"target.xml" => Ok(part(self.files.registers.as_bytes(), offset, length, buf)),
            _ => Err(TargetError::NonFatal),
        }
    }
}

impl ExecFile for Remote {
    fn get_exec_file(
        &self,
        _: Option<Pid>,
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        Ok(part(RUNTIME.as_bytes(), offset, length, buf))
    }
}

impl Libraries for Remote {
    fn get_libraries(
        &self,
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        Ok(part(self.files.libraries.as_bytes(), offset, length, buf))
    }
}

impl HostIo for Remote {
    fn support_open(&mut self) -> Option<HostIoOpenOps<'_, Self>> {
        Some(self)
    }

    fn support_close(&mut self) -> Option<HostIoCloseOps<'_, Self>> {
        Some(self)
    }

    fn support_pread(&mut self) -> Option<HostIoPreadOps<'_, Self>> {
        Some(self)
    }

    fn support_fstat(&mut self) -> Option<HostIoFstatOps<'_, Self>> {
        Some(self)
    }

    fn support_setfs(&mut self) -> Option<HostIoSetfsOps<'_, Self>> {
        Some(self)
    }
}

/// The error of a descriptor that is not open.
fn not_open<T>(found: Option<T>) -> HostIoResult<T, Remote> {
    found.ok_or(HostIoError::Errno(HostIoErrno::EBADF))
}

impl HostIoOpen for Remote {
    fn open(
        &mut self,
        name: &[u8],
        _: HostIoOpenFlags,
        _: HostIoOpenMode,
    ) -> HostIoResult<u32, Self> {
        self.files.open(name).ok_or(HostIoError::Errno(HostIoErrno::ENOENT))
    }
}

impl HostIoClose for Remote {
    fn close(&mut self, descriptor: u32) -> HostIoResult<(), Self> {
        not_open(self.files.get(descriptor)).map(|_| ())
    }
}

impl HostIoPread for Remote {
    fn pread(
        &mut self,
        descriptor: u32,
        count: usize,
        offset: u64,
        buf: &mut [u8],
    ) -> HostIoResult<usize, Self> {
        let file = not_open(self.files.get(descriptor))?;
        Ok(part(file, offset, count, buf))
    }
}

impl HostIoFstat for Remote {
    fn fstat(&mut self, descriptor: u32) -> HostIoResult<HostIoStat, Self> {
        let file = not_open(self.files.get(descriptor))?;
        Ok(HostIoStat {
            st_dev: 0,
            st_ino: descriptor,
            st_mode: HostIoOpenMode::S_IFREG | HostIoOpenMode::S_IRUSR,
            st_nlink: 1,
            st_uid: 0,
            st_gid: 0,
            st_rdev: 0,
            st_size: file.len() as u64,
            st_blksize: 512,
            st_blocks: file.len().div_ceil(512) as u64,
            st_atime: 0,
            st_mtime: 0,
            st_ctime: 0,
        })
    }
}

impl HostIoSetfs for Remote {
    fn setfs(&mut self, _: FsKind) -> HostIoResult<(), Self> {
        Ok(())
    }
}
