//! The statements of programs other than invocations.

use selkie_isa::Version;

use super::{DATA, DATA_AT, DATA_LEN, KEY, LAMPORTS, OWNER, SCRATCH, Writer};

/// Syscalls that read memory at r1, r2 bytes, and write 32 bytes of result or nothing.
const HASHES: [&str; 4] = ["sol_sha256", "sol_keccak256", "sol_blake3", "sol_sha512"];

const SYSVARS: [&str; 6] = [
    "sol_get_clock_sysvar",
    "sol_get_rent_sysvar",
    "sol_get_epoch_schedule_sysvar",
    "sol_get_epoch_rewards_sysvar",
    "sol_get_last_restart_slot",
    "sol_get_fees_sysvar",
];

impl Writer<'_, '_> {
    pub(super) fn statement(&mut self) {
        match self.scene.rng.below(30) {
            0 => self.fingerprint(),
            1 => self.repeat(),
            _ => self.simple(),
        }
    }

    /// A statement repeated until a limit is reached.
    fn repeat(&mut self) {
        let again = self.label();
        let count = if self.scene.odd(60) { self.scene.rng.below(80) } else { 3 };
        self.line(&format!("mov64 r1, {}", count + 1));
        self.line("stxdw [r10-4088], r1");
        self.text.push_str(&format!("{again}:\n"));
        self.simple();
        self.line("ldxdw r1, [r10-4088]");
        self.line("add64 r1, -1");
        self.line("stxdw [r10-4088], r1");
        self.line(&format!("jne r1, 0, {again}"));
    }

    /// Logs a hash of the whole input: header, accounts, padding, instruction.
    fn fingerprint(&mut self) {
        self.set("r1", super::SCRATCH + 0x600);
        self.line("mov64 r3, 4");
        self.line("lsh64 r3, 32");
        self.line("stxdw [r1+0], r3");
        self.line(&format!("ldxdw r2, [r9+{DATA_AT}]"));
        self.line("ldxdw r4, [r2-8]");
        self.line("add64 r2, r4");
        self.line("add64 r2, 32");
        self.line("sub64 r2, r3");
        self.line("stxdw [r1+8], r2");
        self.line("mov64 r2, 1");
        self.set("r3", super::SCRATCH + 0x680);
        self.line("call sol_sha256");
        self.set("r1", super::SCRATCH + 0x680);
        self.line("call sol_log_pubkey");
    }

    fn simple(&mut self) {
        match self.scene.roll(50, 64, 60) {
            0..22 => self.invoke(),
            22..28 => self.move_lamports(),
            28..33 => self.write_data(),
            33..36 => self.resize(),
            36..38 => self.log(),
            38..41 => self.memory(),
            41..43 => self.return_data(),
            43..45 => self.sysvar(),
            45..47 => self.hash(),
            47..49 => self.derive(),
            49 => self.own(),
            50 => self.write_data(),
            51 | 52 => self.ask(),
            53 => self.sibling(),
            54 => self.memory(),
            55 => self.curves(),
            56..60 => self.stack(),
            // The following statements rarely succeed.
            60 | 61 => self.fail(),
            62 => self.write_elsewhere(),
            _ => self.own(),
        }
    }

    /// An address, in most cases with `len` accessible bytes.
    pub(super) fn place(&mut self, register: &str, len: u64) {
        match self.scene.roll(60, 9, 4) {
            0 | 1 => {
                self.line(&format!("mov64 {register}, r10"));
                let below = 8 * (1 + self.scene.rng.below(500) as u64) + len.min(1024);
                self.line(&format!("add64 {register}, -{}", below.min(4096)));
            }
            4 => {
                let index = self.owned();
                self.field(register, index, DATA);
            }
            8 => {
                let index = self.index();
                let field = self.scene.rng.pick(&[KEY, OWNER, LAMPORTS, DATA_LEN, DATA, 0]);
                self.field(register, index, field);
            }
            5 => self.constant(register, "nothing"),
            6 => {
                let wild = self.scene.rng.pick(&[
                    0,
                    0x1_0000_0000,
                    0x2_0000_0000,
                    0x2_0000_0ff8,
                    0x3_0000_7ff8,
                    0x3_0000_8000,
                    0x4_0000_0000,
                    0x5_0000_0000,
                    u64::MAX,
                ]);
                self.set(register, wild);
            }
            7 => self.line(&format!("ldxdw {register}, [r9+{DATA_AT}]")),
            _ => {
                let at = SCRATCH + 8 * self.scene.rng.below(300) as u64;
                let skew = u64::from(self.scene.odd(10));
                self.set(register, at + skew);
            }
        }
    }

    /// A number of bytes.
    fn size(&mut self) -> u64 {
        match self.scene.roll(30, 3, 40) {
            0 => 0,
            1 => self.scene.rng.pick(&[1024, 1025, 10_000, 32 * 1024, 1 << 32, u64::MAX]),
            2 => self.scene.rng.below(2000) as u64,
            _ => self.scene.rng.below(64) as u64,
        }
    }

    fn log(&mut self) {
        match self.scene.rng.below(6) {
            0 => {
                self.place("r1", 32);
                let len = self.size();
                self.set("r2", len);
                self.line("call sol_log_");
            }
            1 => {
                for register in ["r1", "r2", "r3", "r4", "r5"] {
                    let value = self.scene.rng.word() >> self.scene.rng.below(64);
                    self.set(register, value);
                }
                self.line("call sol_log_64_");
            }
            2 => {
                let index = self.index();
                let field = self.scene.rng.pick(&[KEY, OWNER]);
                self.field("r1", index, field);
                self.line("call sol_log_pubkey");
            }
            3 => {
                let count = self.slices();
                self.set("r1", SCRATCH + 0x600);
                self.set("r2", count);
                self.line("call sol_log_data");
            }
            4 => self.line("call sol_log_compute_units_"),
            _ => {
                let label = self.label();
                let len = self.scene.rng.below(90);
                self.rodata
                    .push_str(&format!("{label}:\n    .ascii \"{}\"\n", "y".repeat(len + 1)));
                self.constant("r1", &label);
                self.set("r2", len as u64);
                self.line("call sol_log_");
            }
        }
    }

    /// Writes pairs of address and length to `SCRATCH + 0x600`, and returns their number.
    fn slices(&mut self) -> u64 {
        let count = self.scene.rng.below(5) as u64;
        for index in 0..count {
            let len =
                if self.scene.odd(10) { self.size() } else { self.scene.rng.below(33) as u64 };
            self.place("r2", len);
            self.set("r3", len);
            self.set("r1", SCRATCH + 0x600 + 16 * index);
            self.line("stxdw [r1+0], r2");
            self.line("stxdw [r1+8], r3");
        }
        match self.scene.roll(6, 2, 400) {
            0 => 20_001,
            1 => 17,
            _ => count,
        }
    }

    fn move_lamports(&mut self) {
        let (from, to) = (self.owned(), self.writable());
        let amount = match self.scene.roll(30, 3, 60) {
            0 => self.scene.rng.word(),
            1 => 0,
            2 => 1_000_000,
            _ => 1 + self.scene.rng.below(1000) as u64,
        };
        self.set("r3", amount);
        self.field("r1", from, LAMPORTS);
        self.line("ldxdw r2, [r1+0]");
        if self.scene.odd(20) {
            // The whole input.
            self.line("mov64 r3, r2");
        }
        self.line("sub64 r2, r3");
        self.line("stxdw [r1+0], r2");
        if !self.scene.odd(12) {
            self.field("r1", to, LAMPORTS);
            self.line("ldxdw r2, [r1+0]");
            self.line("add64 r2, r3");
            self.line("stxdw [r1+0], r2");
        }
    }

    fn write_data(&mut self) {
        let index = if self.scene.odd(12) { self.index() } else { self.owned() };
        self.field("r1", index, DATA);
        let offset = match self.scene.odd(25) {
            true => self.scene.rng.below(12_000),
            _ => self.scene.rng.below(40),
        };
        let value = self.scene.rng.word() as u32;
        let width = self.scene.rng.pick(&["b", "h", "w", "dw"]);
        self.line(&format!("mov64 r2, {}", value as i32));
        self.line(&format!("stx{width} [r1+{offset}], r2"));
    }

    fn resize(&mut self) {
        let index = self.owned();
        let len = match self.scene.roll(30, 2, 30) {
            0 => self.scene.rng.pick(&[10_240, 10_241, 20_480, u64::MAX, 1 << 32]),
            1 => 0,
            2 => self.scene.rng.below(20_000) as u64,
            _ => self.scene.rng.below(300) as u64,
        };
        self.field("r1", index, DATA_LEN);
        if self.scene.rng.chance(30) {
            self.line("ldxdw r2, [r1+0]");
            self.line(&format!("add64 r2, {}", len.min(10_241)));
        } else {
            self.set("r2", len);
        }
        self.line("stxdw [r1+0], r2");
    }

    /// Assigns an account to another owner.
    fn own(&mut self) {
        let (index, to) = (self.owned(), self.index());
        if !self.scene.odd(60) {
            // Only an account with zeroed data may change its owner.
            self.field("r1", index, DATA_LEN);
            self.line("ldxdw r3, [r1+0]");
            self.line("mov64 r2, 0");
            self.line("add64 r1, 8");
            self.line("call sol_memset_");
        }
        self.field("r1", index, OWNER);
        let field = self.scene.rng.pick(&[KEY, OWNER]);
        self.field("r2", to, field);
        for at in [0, 8, 16, 24] {
            self.line(&format!("ldxdw r3, [r2+{at}]"));
            self.line(&format!("stxdw [r1+{at}], r3"));
        }
    }

    /// Writes to read-only parts of the input: flags, keys, the instruction.
    fn write_elsewhere(&mut self) {
        let index = self.index();
        let field = self.scene.rng.pick(&[0, 1, 2, 3, 4, KEY, OWNER, DATA + 10_240]);
        self.field("r1", index, field);
        let value = self.scene.rng.below(256);
        self.line(&format!("mov64 r2, {value}"));
        self.line("stxb [r1+0], r2");
    }

    fn memory(&mut self) {
        let len = self.size();
        self.place("r1", len);
        let name =
            self.scene.rng.pick(&["sol_memcpy_", "sol_memmove_", "sol_memset_", "sol_memcmp_"]);
        if name == "sol_memset_" {
            let value = self.scene.rng.below(300) as u64;
            self.set("r2", value);
        } else {
            self.place("r2", len);
        }
        self.set("r3", len);
        if name == "sol_memcmp_" {
            self.place("r4", 4);
        }
        self.line(&format!("call {name}"));
    }

    fn return_data(&mut self) {
        if self.scene.rng.chance(60) {
            let len = self.size();
            self.place("r1", len);
            self.set("r2", len);
            self.line("call sol_set_return_data");
        } else {
            let len = self.size();
            self.place("r1", len);
            self.set("r2", len);
            self.place("r3", 32);
            self.line("call sol_get_return_data");
            self.line("mov64 r1, r0");
            self.line("call sol_log_64_");
        }
    }

    fn sysvar(&mut self) {
        if self.scene.rng.chance(60) {
            // The last one is not on mainnet.
            let known = if self.scene.odd(5) { 6 } else { 5 };
            let name = self.scene.rng.pick(&SYSVARS[..known]);
            self.place("r1", 96);
            self.line(&format!("call {name}"));
        } else {
            // The address of a sysvar may be among the accounts.
            let index = (0..self.metas.len())
                .find(|it| {
                    self.scene
                        .accounts
                        .get(&self.metas[*it].key)
                        .is_some_and(|it| it.owner == super::SYSVAR)
                })
                .unwrap_or(0);
            self.field("r1", index, KEY);
            self.place("r2", 40);
            let (offset, len) = (self.size() / 2, self.size());
            self.set("r3", offset);
            self.set("r4", len);
            self.line("call sol_get_sysvar");
        }
        self.log_result();
    }

    /// Logs r0.
    fn log_result(&mut self) {
        if self.scene.rng.chance(30) {
            self.line("mov64 r1, r0");
            for register in ["r2", "r3", "r4", "r5"] {
                self.line(&format!("mov64 {register}, 0"));
            }
            self.line("call sol_log_64_");
        }
    }

    fn hash(&mut self) {
        let count = self.slices();
        self.set("r1", SCRATCH + 0x600);
        self.set("r2", count);
        self.place("r3", 64);
        // The others are not on mainnet.
        let known = if self.scene.odd(10) { 4 } else { 2 };
        let name = self.scene.rng.pick(&HASHES[..known]);
        self.line(&format!("call {name}"));
    }

    fn derive(&mut self) {
        let count = self.slices();
        self.set("r1", SCRATCH + 0x600);
        self.set("r2", count);
        let index = self.index();
        self.field("r3", index, KEY);
        self.place("r4", 32);
        if self.scene.rng.chance(50) {
            self.line("call sol_create_program_address");
        } else {
            self.place("r5", 1);
            self.line("call sol_try_find_program_address");
        }
        self.log_result();
    }

    fn ask(&mut self) {
        match self.scene.roll(20, 10, 9) {
            0..5 => self.line("call sol_get_stack_height"),
            5..9 => {
                if self.scene.rng.chance(40) {
                    self.line("mov64 r1, 0");
                } else {
                    let index = self.index();
                    self.field("r1", index, KEY);
                }
                self.line("call sol_get_epoch_stake");
            }
            _ => self.line("call sol_remaining_compute_units"),
        }
        self.log_result();
    }

    fn sibling(&mut self) {
        let (data, accounts) = (self.scene.rng.below(40), self.scene.rng.below(20));
        self.set("r2", SCRATCH + 0x500);
        self.line(&format!("mov64 r3, {data}"));
        self.line("stxdw [r2+0], r3");
        self.line(&format!("mov64 r3, {accounts}"));
        self.line("stxdw [r2+8], r3");
        self.set("r3", SCRATCH + 0x510);
        self.place("r4", 1024);
        self.place("r5", 1024);
        let index = self.scene.rng.below(3);
        self.line(&format!("mov64 r1, {index}"));
        self.line("call sol_get_processed_sibling_instruction");
        self.log_result();
    }

    /// Loads and stores inside and outside the stack frame.
    fn stack(&mut self) {
        let offset = match self.scene.odd(12) {
            true => self.scene.rng.range(-9000, 9000),
            _ => -8 * self.scene.rng.range(1, 511),
        };
        let value = self.scene.rng.below(5000);
        self.line(&format!("mov64 r1, {value}"));
        self.line(&format!("stxdw [r10{offset:+}], r1"));
        self.line(&format!("ldxdw r2, [r10{offset:+}]"));
    }

    fn curves(&mut self) {
        let curve = self.scene.rng.pick(&[0, 1, 2, 4, 5, 6, 0x84, 0x85]);
        self.set("r1", curve);
        match self.scene.rng.below(4) {
            0 => {
                self.place("r2", 192);
                self.line("call sol_curve_validate_point");
            }
            1 => {
                let op = self.scene.rng.below(4) as u64;
                self.set("r2", op);
                self.place("r3", 192);
                self.place("r4", 192);
                self.place("r5", 192);
                self.line("call sol_curve_group_op");
            }
            2 => {
                let op = self.scene.rng.pick(&[0, 1, 2, 3, 4, 6, 0x80, 0x82, 0x83]);
                self.set("r1", op);
                self.place("r2", 192);
                let len = self.scene.rng.pick(&[64, 96, 128, 192, 256]);
                self.set("r3", len);
                self.place("r4", 128);
                self.line("call sol_alt_bn128_group_op");
            }
            _ => {
                let count = self.slices();
                let (parameters, endianness) =
                    (u64::from(self.scene.rng.chance(5)), self.scene.rng.below(3) as u64);
                self.set("r1", parameters);
                self.set("r2", endianness);
                self.set("r3", SCRATCH + 0x600);
                self.set("r4", count);
                self.place("r5", 32);
                self.line("call sol_poseidon");
            }
        }
        self.log_result();
    }

    /// Ends the program.
    fn fail(&mut self) {
        match self.scene.rng.below(8) {
            0 => self.line("call abort"),
            1 => {
                self.place("r1", 10);
                let len = self.scene.rng.below(20) as u64;
                self.set("r2", len);
                self.set("r3", 12);
                self.set("r4", 34);
                self.line("call sol_panic_");
            }
            2 => {
                self.line("mov64 r1, 0");
                let divide = if self.version == Version::V2 { "udiv64" } else { "div64" };
                self.line(&format!("{divide} r2, r1"));
            }
            3 => {
                let label = self.label();
                self.text.push_str(&format!("{label}:\n"));
                self.line(&format!("ja {label}"));
            }
            4 => {
                self.set("r1", 0x1_0000_0007);
                self.line("callx r1");
            }
            5 => self.line("call sol_no_such_syscall"),
            6 => {
                let code = self.scene.rng.below(10);
                self.line(&format!("mov64 r0, {code}"));
                self.line("exit");
            }
            _ => {
                self.line("mov64 r0, 0");
                self.line("exit");
            }
        }
    }
}
