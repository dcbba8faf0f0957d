//! Account infos in both conventions: in most cases written by a function at the program's end, and
//! one by one where their order or number is unusual.

use super::{
    AREA, DATA, DATA_LEN, EXECUTABLE, KEY, LAMPORTS, OWNER, SIGNER, WRITABLE, Writer, flaw::Flaw,
};

/// Offsets of the infos in the area of an invocation, and of the cells of Rust's infos.
pub(super) const INFOS: u64 = 0x1400;
const CELLS: u64 = 0x2400;
/// Bytes of a `Rc<RefCell<..>>` of lamports and one of data.
const CELL_BYTES: u64 = 72;

/// The two conventions of CPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    C,
    Rust,
}

/// Offsets of the fields of one info.
struct Places {
    key: u64,
    lamports: u64,
    data: u64,
    data_len: u64,
    owner: u64,
    rent_epoch: u64,
    flags: u64,
}

impl Form {
    const fn bytes(self) -> u64 {
        match self {
            Self::C => 56,
            Self::Rust => 48,
        }
    }

    /// Returns the offsets of the info with this index, from the start of the area.
    const fn places(self, position: u64) -> Places {
        let at = INFOS + self.bytes() * position;
        let cell = CELLS + CELL_BYTES * position;
        match self {
            Self::C => Places {
                key: at,
                lamports: at + 8,
                data_len: at + 16,
                data: at + 24,
                owner: at + 32,
                rent_epoch: at + 40,
                flags: at + 48,
            },
            Self::Rust => Places {
                key: at,
                lamports: cell + 24,
                data: cell + 56,
                data_len: cell + 64,
                owner: at + 24,
                rent_epoch: at + 32,
                flags: at + 40,
            },
        }
    }

    const fn function(self) -> &'static str {
        match self {
            Self::C => "infos_c",
            Self::Rust => "infos_rust",
        }
    }
}

impl Writer<'_, '_> {
    /// Emits code that writes the infos. Returns their number unless it is that of the accounts.
    pub(super) fn infos(&mut self, form: Form, flaw: Flaw) -> Option<u64> {
        let all = 0..self.metas.len();
        let order: Option<Vec<usize>> = match flaw {
            Flaw::NoInfo(index) => Some(all.filter(|it| *it != index).collect()),
            Flaw::InfosTwice => Some(all.clone().chain(all).collect()),
            Flaw::NoInfos => Some(Vec::new()),
            _ if self.scene.rng.chance(12) => Some(all.rev().collect()),
            _ => None,
        };
        let position = |index: usize| match &order {
            Some(order) => order.iter().position(|it| *it == index),
            None => Some(index),
        };
        let spoiled = match flaw {
            Flaw::Info(index, kind) => position(index).map(|it| (it as u64, kind)),
            _ => None,
        };
        match &order {
            Some(order) => {
                for (position, index) in (0..).zip(order) {
                    self.info(form, position, *index);
                }
            }
            None => self.line(&format!("call {}", form.function())),
        }
        if let Some((position, kind)) = spoiled {
            let it = form.places(position);
            let info = INFOS + form.bytes() * position;
            // For Rust, also the pointers to the cells.
            let (fifth, ninth) = match form {
                Form::C => (it.data_len, it.rent_epoch),
                Form::Rust => (info + 8, info + 16),
            };
            let places = [
                it.key,
                it.lamports,
                it.data,
                it.owner,
                it.data_len,
                fifth,
                it.flags,
                it.flags + 1,
                it.flags + 2,
                ninth,
            ];
            self.spoil(places[kind as usize], kind);
        }
        order.map(|order| order.len() as u64)
    }

    fn info(&mut self, form: Form, position: u64, index: usize) {
        let it = form.places(position);
        if form == Form::Rust {
            let info = INFOS + form.bytes() * position;
            let cell = AREA + CELLS + CELL_BYTES * position;
            self.store(info + 8, cell);
            self.store(info + 16, cell + 32);
        }
        let rows = [(it.key, KEY), (it.lamports, LAMPORTS), (it.data, DATA), (it.owner, OWNER)];
        for (at, field) in rows {
            self.field("r2", index, field);
            self.line(&format!("stxdw [r8+{at}], r2"));
        }
        self.field("r2", index, DATA_LEN);
        self.line("ldxdw r3, [r2+0]");
        self.line(&format!("stxdw [r8+{}], r3", it.data_len));
        self.store(it.rent_epoch, u64::MAX);
        for (at, field) in (it.flags..).zip([SIGNER, WRITABLE, EXECUTABLE]) {
            self.field("r2", index, field);
            self.line("ldxb r3, [r2+0]");
            self.line(&format!("stxb [r8+{at}], r3"));
        }
    }

    /// The functions that write the infos of all accounts to the area at r8.
    pub(super) fn info_functions(&mut self) {
        for form in [Form::C, Form::Rust] {
            let (name, it) = (form.function(), form.places(0));
            self.text.push_str(&format!("{name}:\n"));
            // r1 counts, r2 is where the area would start for this info, r3 is the table's entry,
            // r5 where it would start for this info's cells.
            self.line("ldxdw r1, [r9+0]");
            self.line("mov64 r2, r8");
            self.line("mov64 r5, r8");
            self.line("mov64 r3, r9");
            self.text.push_str(&format!("{name}_next:\n"));
            self.line(&format!("jeq r1, 0, {name}_done"));
            self.line("ldxdw r4, [r3+8]");
            let shift = if self.is_aligned { 0 } else { 37 };
            let key = if self.is_aligned { KEY } else { 3 };
            let cells = if form == Form::Rust { "r5" } else { "r2" };
            let rows = [
                ("r2", it.key, key),
                (cells, it.lamports, LAMPORTS - shift),
                (cells, it.data, DATA - shift),
            ];
            for (base, at, field) in rows {
                self.line("mov64 r0, r4");
                self.line(&format!("add64 r0, {field}"));
                self.line(&format!("stxdw [{base}+{at}], r0"));
            }
            self.line(&format!("ldxdw r0, [r4+{}]", DATA_LEN - shift));
            self.line(&format!("stxdw [{cells}+{}], r0", it.data_len));
            self.line("mov64 r0, -1");
            self.line(&format!("stxdw [r2+{}], r0", it.rent_epoch));
            for (at, field) in (it.flags..).zip([SIGNER, WRITABLE]) {
                self.line(&format!("ldxb r0, [r4+{field}]"));
                self.line(&format!("stxb [r2+{at}], r0"));
            }
            // The owner, and in input without padding the flag that follows it.
            if self.is_aligned {
                self.line(&format!("ldxb r0, [r4+{EXECUTABLE}]"));
                self.line(&format!("stxb [r2+{}], r0", it.flags + 2));
                self.line("mov64 r0, r4");
                self.line(&format!("add64 r0, {OWNER}"));
                self.line(&format!("stxdw [r2+{}], r0", it.owner));
            } else {
                self.line("ldxdw r0, [r3+648]");
                self.line(&format!("stxdw [r2+{}], r0", it.owner));
                self.line("ldxb r0, [r0+32]");
                self.line(&format!("stxb [r2+{}], r0", it.flags + 2));
            }
            if form == Form::Rust {
                self.line("mov64 r0, r5");
                self.line(&format!("add64 r0, {CELLS}"));
                self.line(&format!("stxdw [r2+{}], r0", INFOS + 8));
                self.line("add64 r0, 32");
                self.line(&format!("stxdw [r2+{}], r0", INFOS + 16));
                self.line(&format!("add64 r5, {CELL_BYTES}"));
            }
            self.line(&format!("add64 r2, {}", form.bytes()));
            self.line("add64 r3, 8");
            self.line("add64 r1, -1");
            self.line(&format!("ja {name}_next"));
            self.text.push_str(&format!("{name}_done:\n"));
            self.line("exit");
        }
    }
}
