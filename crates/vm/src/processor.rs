//! The features of this host's processor that machine code depends on.

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

/// Returns the name of the processor features that machine code depends on.
#[must_use]
pub fn processor() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    return match Features::of_host() {
        Features { bmi2: false, .. } => "x86-64",
        Features { pext: false, .. } => "x86-64+bmi2",
        Features { .. } => "x86-64+bmi2+pext",
    };
    #[cfg(target_arch = "aarch64")]
    return "arm64";
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    "none"
}

/// Features that not all processors have.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    /// Shifts by any register, without flags.
    pub(crate) bmi2: bool,
    /// A `pext` that is not microcoded.
    pub(crate) pext: bool,
}

#[cfg(target_arch = "x86_64")]
impl Features {
    pub(crate) fn of_host() -> Self {
        // `cpuid` is slow in virtual machines.
        static FEATURES: OnceLock<Features> = OnceLock::new();
        *FEATURES.get_or_init(|| {
            let bmi2 = std::arch::is_x86_feature_detected!("bmi2");
            Self { bmi2, pext: bmi2 && !amd_before_zen3() }
        })
    }

    /// Returns whether checks can remove gaps from addresses.
    pub(crate) fn removes_gaps(self) -> bool {
        self.pext
    }

    pub(crate) fn bits(self) -> [bool; 2] {
        [self.bmi2, self.pext]
    }
}

/// Features that not all processors have: the JIT uses none.
#[cfg(target_arch = "aarch64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features;

#[cfg(target_arch = "aarch64")]
impl Features {
    pub(crate) fn of_host() -> Self {
        Self
    }

    /// Returns whether checks can remove gaps from addresses.
    #[allow(clippy::unused_self, reason = "depends on it elsewhere")]
    pub(crate) fn removes_gaps(self) -> bool {
        true
    }

    #[allow(clippy::unused_self, reason = "depends on it elsewhere")]
    pub(crate) fn bits(self) -> [bool; 2] {
        [false; 2]
    }
}

/// Returns whether this is an AMD processor before family 19h: those have `pext` in microcode.
#[cfg(target_arch = "x86_64")]
fn amd_before_zen3() -> bool {
    use core::arch::x86_64;
    // SAFETY: every processor of x86-64 has the instruction.
    #[allow(unsafe_code, unused_unsafe, reason = "the function is safe since Rust 1.92")]
    let cpuid = |leaf| unsafe { x86_64::__cpuid(leaf) };
    let vendor = cpuid(0);
    let amd = (vendor.ebx, vendor.edx, vendor.ecx) == (0x6874_7541, 0x6974_6e65, 0x444d_4163);
    let version = cpuid(1).eax;
    let family = (version >> 8 & 15) + (version >> 20 & 0xff);
    amd && family < 0x19
}
