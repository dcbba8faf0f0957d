//! Notes on traps that an exhausted heap has caused.

use selkie_isa::layout::{HEAP_BYTES_MAX, HEAP_START, INPUT_START};
use selkie_vm::Trap;

/// The end of addresses that are explained as a null pointer plus an offset.
const NULL_END: u64 = 4096;

/// Returns a note if the heap is the likely cause of a trap: the access is behind its end, or the
/// program has logged a failed allocation, or a null pointer suggests one.
pub(super) fn notes(trap: &Trap, heap_bytes: u64, logs: &[String]) -> Vec<String> {
    let more = if heap_bytes < HEAP_BYTES_MAX {
        format!(
            "a transaction can ask for up to {HEAP_BYTES_MAX} \
             (ComputeBudgetInstruction::request_heap_frame, or `selkie run --heap`)"
        )
    } else {
        "that is the most that a transaction can ask for".to_owned()
    };
    let end = HEAP_START.saturating_add(heap_bytes);
    let is_exhausted = logs.iter().any(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("memory allocation") || line.contains("out of memory")
    });
    match *trap {
        Trap::AccessViolation { vaddr, len, .. } if (HEAP_START..INPUT_START).contains(&vaddr) => {
            let past = vaddr.saturating_add(len).saturating_sub(end);
            vec![format!(
                "the heap has {heap_bytes} bytes, from {HEAP_START:#x} to {end:#x}: the access \
                 ends {past} bytes behind it; {more}"
            )]
        }
        _ if is_exhausted => vec![format!(
            "the heap of {heap_bytes} bytes is used up, and what programs free is not used again; \
             {more}"
        )],
        Trap::AccessViolation { vaddr, .. } if vaddr < NULL_END => vec![format!(
            "this is a null pointer: of what was never set, such as an account that the instruction does \
             not have, or of an allocation that failed in the heap of {heap_bytes} bytes; {more}"
        )],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use selkie_vm::Access;

    use super::*;

    fn violation(vaddr: u64) -> Trap {
        Trap::AccessViolation { access: Access::Load, vaddr, len: 8, region: "unallocated" }
    }

    fn note(trap: &Trap, heap_bytes: u64, log: &str) -> String {
        notes(trap, heap_bytes, &[log.to_owned()]).concat()
    }

    #[test]
    fn an_access_behind_the_heap_names_its_bounds() {
        let said = note(&violation(HEAP_START + 32_764), 32_768, "");
        assert!(said.contains("from 0x300000000 to 0x300008000"), "{said}");
        assert!(
            said.contains("ends 4 bytes behind it; a transaction can ask for up to 262144"),
            "{said}"
        );
        let said = note(&violation(HEAP_START + HEAP_BYTES_MAX), HEAP_BYTES_MAX, "");
        assert!(said.ends_with("that is the most that a transaction can ask for"), "{said}");
    }

    #[test]
    fn a_failed_allocation_is_told_from_other_traps() {
        let panic = "Program log: memory allocation of 40000 bytes failed";
        let said = note(&Trap::UnsupportedInstruction, 32_768, panic);
        assert!(said.starts_with("the heap of 32768 bytes is used up"), "{said}");
        assert!(note(&violation(8), 32_768, "").starts_with("this is a null pointer"));
        for trap in [violation(INPUT_START), violation(NULL_END), Trap::DivideByZero] {
            assert_eq!(note(&trap, 32_768, "Program log: hello"), "");
        }
    }
}
