//! Changes that a host may make to the region of an access violation.

use selkie_elf::SyscallId;
use selkie_isa::{Version, layout::INPUT_START};
use selkie_vm::{Access, Host, MemoryMap, Meter, NoHost, Region, SyscallError, Trap, Violation};

use crate::guest::{access, by_each_engine, config};

const I: u64 = INPUT_START;

/// A host that calls `decide`, and records the violations.
struct Asked<F> {
    decide: F,
    calls: Vec<(Violation, Option<u16>)>,
}

impl<F: FnMut(&Violation, &mut Region<'_>)> Asked<F> {
    fn new(decide: F) -> Self {
        Self { decide, calls: Vec::new() }
    }
}

impl<F: FnMut(&Violation, &mut Region<'_>)> Host for Asked<F> {
    fn syscall(
        &mut self,
        _: SyscallId,
        _: [u64; 5],
        _: &mut MemoryMap<'_>,
        _: &mut Meter,
    ) -> Result<u64, SyscallError> {
        Ok(0)
    }

    fn access_violation(&mut self, violation: &Violation, region: &mut Region<'_>) {
        self.calls.push((*violation, region.payload()));
        (self.decide)(violation, region);
    }
}

/// Calls `then` with a map of two regions: 4 of 32 bytes at the start of the input, writable if
/// `writable`, and 8 bytes at offset 16.
fn with_two(writable: bool, then: impl Fn(&mut MemoryMap<'_>)) {
    by_each_engine(|| {
        let (mut first, mut second) = ([1; 32], [2; 8]);
        let region = Region::writable(I, &mut first).reserve(4).with_payload(7);
        let region = if writable { region } else { region.protected() };
        let regions = vec![region, Region::writable(I + 16, &mut second)];
        then(&mut MemoryMap::new(regions, &config(false), Version::V3).unwrap());
    });
}

fn store(map: &mut MemoryMap<'_>, vaddr: u64, host: &mut dyn Host) -> Result<u64, Trap> {
    access(map, Access::Store, 8, vaddr, u64::MAX, host)
}

#[test]
fn a_region_may_grow_for_a_store() {
    with_two(true, |map| {
        let mut host = Asked::new(|_, region| region.grow(12));
        store(map, I + 4, &mut host).unwrap();
        let expected = Violation { access: Access::Store, vaddr: I + 4, len: 8, len_max: 16 };
        assert_eq!(host.calls, [(expected, Some(7))]);
        assert_eq!(map.slice(I, 12).unwrap(), [[1; 4], [255; 4], [255; 4]].concat());
        // The change persists: later accesses before and after it succeed.
        store(map, I, &mut host).unwrap();
        store(map, I + 4, &mut host).unwrap();
        assert_eq!(access(map, Access::Load, 1, I + 11, 0, &mut NoHost).unwrap(), 255);
        assert_eq!(host.calls.len(), 1);
        assert!(map.slice(I, 13).is_err());
    });
}

#[test]
fn a_region_may_grow_for_a_load() {
    with_two(false, |map| {
        let mut host = Asked::new(|_, region| region.grow(16));
        assert_eq!(access(map, Access::Load, 4, I + 12, 0, &mut host).unwrap(), 0x0101_0101);
        let expected = Violation { access: Access::Load, vaddr: I + 12, len: 4, len_max: 16 };
        assert_eq!(host.calls, [(expected, Some(7))]);
    });
}

#[test]
fn a_region_may_be_made_writable() {
    with_two(false, |map| {
        let load = access(map, Access::Load, 4, I, 0, &mut NoHost);
        assert_eq!(load.unwrap(), 0x0101_0101);
        let mut host = Asked::new(|_, region| assert!(region.make_writable()));
        access(map, Access::Store, 4, I, 5, &mut host).unwrap();
        access(map, Access::Store, 4, I, 6, &mut host).unwrap();
        assert_eq!(host.calls.len(), 1);
        assert_eq!(map.slice(I, 4).unwrap(), [6, 0, 0, 0]);
    });
}

#[test]
fn a_region_with_a_shared_buffer_never_becomes_writable() {
    by_each_engine(|| {
        let bytes = [1; 8];
        let regions = vec![Region::readonly(I, &bytes)];
        let mut map = MemoryMap::new(regions, &config(false), Version::V3).unwrap();
        let mut host = Asked::new(|_, region| assert!(!region.make_writable()));
        let trap = store(&mut map, I, &mut host).unwrap_err();
        assert!(matches!(trap, Trap::AccessViolation { region: "input", .. }), "{trap:?}");
        assert_eq!(host.calls.len(), 1);
    });
}

#[test]
fn the_buffer_of_a_region_may_be_replaced() {
    with_two(false, |map| {
        assert_eq!(access(map, Access::Load, 1, I, 0, &mut NoHost).unwrap(), 1);
        let mut host = Asked::new(|_, region| region.replace(Box::leak(Box::new([9; 16]))));
        access(map, Access::Store, 1, I + 1, 5, &mut host).unwrap();
        assert_eq!(access(map, Access::Load, 4, I, 0, &mut NoHost).unwrap(), 0x0909_0509);
        assert_eq!(map.slice(I, 16).unwrap()[..3], [9, 5, 9]);
    });
}

#[test]
fn a_host_that_changes_nothing_is_called_once() {
    with_two(true, |map| {
        let mut host = Asked::new(|_, _| ());
        let trap = store(map, I, &mut host).unwrap_err();
        assert!(matches!(trap, Trap::AccessViolation { vaddr: I, region: "input", .. }));
        assert_eq!(host.calls.len(), 1);
    });
}

/// The violation refers to the region as it was, and so does the next access.
#[test]
fn a_change_that_does_not_allow_the_access_is_discarded() {
    with_two(false, |map| {
        let mut host = Asked::new(|_, region| region.grow(16));
        let trap = store(map, I + 4, &mut host).unwrap_err();
        assert!(matches!(trap, Trap::AccessViolation { region: "unallocated", .. }), "{trap:?}");
        assert!(map.slice(I, 5).is_err());
        let mut host = Asked::new(|_, region| _ = region.make_writable());
        store(map, I, &mut host).unwrap_err();
        assert!(!map.regions()[0].is_writable());
    });
}

#[test]
fn a_region_must_not_grow_into_the_next() {
    with_two(true, |map| {
        let mut host = Asked::new(|_, region| region.grow(17));
        let trap = store(map, I + 8, &mut host).unwrap_err();
        assert!(matches!(trap, Trap::InvalidMemoryRegion(0)), "{trap:?}");
        assert_eq!(map.regions()[0].len(), 4);
        // If the access is refused all the same, the change is discarded.
        let trap = store(map, I + 10, &mut Asked::new(|_, region| region.grow(17))).unwrap_err();
        assert!(matches!(trap, Trap::AccessViolation { region: "unallocated", .. }), "{trap:?}");
        store(map, I + 8, &mut Asked::new(|_, region| region.grow(16))).unwrap();
    });
}

#[test]
fn an_aligned_region_must_not_leave_its_window() {
    by_each_engine(|| {
        let mut bytes = [1; 16];
        let vaddr = 0x4_ffff_fff8;
        let regions = vec![Region::writable(vaddr, &mut bytes).reserve(4)];
        let mut map = MemoryMap::new(regions, &config(true), Version::V3).unwrap();
        let mut host = Asked::new(|_, region| region.grow(16));
        let trap = store(&mut map, vaddr + 4, &mut host).unwrap_err();
        assert!(matches!(trap, Trap::InvalidMemoryRegion(4)), "{trap:?}");
        let len_max = u64::MAX - vaddr;
        let expected = Violation { access: Access::Store, vaddr: vaddr + 4, len: 8, len_max };
        assert_eq!(host.calls, [(expected, None)]);
        store(&mut map, vaddr, &mut Asked::new(|_, region| region.grow(8))).unwrap();
    });
}

#[test]
fn accesses_to_windows_without_a_region_are_passed_to_the_host() {
    by_each_engine(|| {
        let mut bytes = [1; 8];
        let regions = vec![Region::writable(I, &mut bytes)];
        let mut map = MemoryMap::new(regions, &config(true), Version::V3).unwrap();
        let mut host = Asked::new(|_, region| region.replace(Box::leak(Box::new([0; 8]))));
        store(&mut map, 3 << 32, &mut host).unwrap();
        let expected =
            Violation { access: Access::Store, vaddr: 3 << 32, len: 8, len_max: 1 << 32 };
        assert_eq!(host.calls, [(expected, None)]);
        // Behind the last window there is no region to change.
        store(&mut map, 5 << 32, &mut host).unwrap_err();
        assert_eq!(host.calls.len(), 1);
    });
}

#[test]
fn accesses_before_the_first_region_are_not_passed_to_the_host() {
    with_two(true, |map| {
        let mut host = Asked::new(|_, _| ());
        store(map, I - 8, &mut host).unwrap_err();
        assert!(host.calls.is_empty());
    });
}

#[test]
fn a_grown_region_keeps_its_gaps() {
    by_each_engine(|| {
        let mut bytes = [0; 8192];
        let stack = 2 << 32;
        let regions = vec![Region::writable(stack, &mut bytes).gapped(4096).reserve(4096)];
        let mut map = MemoryMap::new(regions, &config(true), Version::V0).unwrap();
        let mut host = Asked::new(|_, region| region.grow(8192));
        let trap = store(&mut map, stack + 4096, &mut host).unwrap_err();
        assert!(matches!(trap, Trap::StackAccessViolation { frame: 1, .. }), "{trap:?}");
        store(&mut map, stack + 8192, &mut host).unwrap();
        assert_eq!(host.calls.len(), 2);
        assert_eq!(map.regions()[2].bytes()[4096..4104], [255; 8]);
    });
}

/// Cached windows must not outlive changes of their region, even if the change was made because of
/// another region of the window.
#[test]
fn cached_windows_follow_changes_of_their_region() {
    with_two(true, |map| {
        for _ in 0..3 {
            assert_eq!(access(map, Access::Load, 1, I, 0, &mut NoHost).unwrap(), 1);
        }
        let mut host = Asked::new(|_, region| {
            region.replace(Box::leak(Box::new([3; 8])));
        });
        access(map, Access::Store, 1, I + 7, 4, &mut host).unwrap();
        assert_eq!(access(map, Access::Load, 8, I, 0, &mut NoHost).unwrap(), 0x0403_0303_0303_0303);
        assert_eq!(access(map, Access::Load, 1, I + 16, 0, &mut NoHost).unwrap(), 2);
    });
}
