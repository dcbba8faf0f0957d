//! Loads mutated ELF files by both engines and compares the results.

use core::{fmt::Write as _, ops::RangeInclusive};
use std::{collections::BTreeMap, fs, io, panic, path::Path, sync::Arc};

use selkie_elf::{Environment, Syscalls, write};
use selkie_isa::Version;
use selkie_vm::{MachineCode, Program, verify};
use solana_sbpf::{
    elf::Executable, error::EbpfError, program::BuiltinProgram, verifier::RequisiteVerifier,
    vm::Config,
};

use crate::{
    anza::{self, Context},
    case::{Case, RegionSpec, hex, quoted},
    exec::kind_of,
    generate,
    mutate::{self, Mutation},
    observed::{Run, error_expectation, fnv1a},
    ours::{self, Calls, Gear, Plan},
    rng::Rng,
};

/// Names of imported syscalls. Loading does not depend on what they do.
const SYSCALLS: [&str; 24] = [
    "abort",
    "sol_panic_",
    "sol_log_",
    "sol_log_64_",
    "sol_log_pubkey",
    "sol_log_compute_units_",
    "sol_log_data",
    "sol_sha256",
    "sol_keccak256",
    "sol_create_program_address",
    "sol_try_find_program_address",
    "sol_get_clock_sysvar",
    "sol_get_rent_sysvar",
    "sol_get_sysvar",
    "sol_memcpy_",
    "sol_memmove_",
    "sol_memset_",
    "sol_memcmp_",
    "sol_invoke_signed_c",
    "sol_invoke_signed_rust",
    "sol_set_return_data",
    "sol_get_return_data",
    "sol_get_stack_height",
    "sol_alloc_free_",
];

/// An ELF file to mutate.
pub(crate) struct Base {
    name: String,
    bytes: Vec<u8>,
}

/// Reads the files of a folder. Without one, makes files from random programs.
pub(crate) fn bases(folder: &Path) -> io::Result<Vec<Base>> {
    let mut bases = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == "so" || it == "elf" || it == "bin") {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                bases.push(Base { name, bytes: fs::read(&path)? });
            }
        }
    }
    // Cases are identified by their index, so the order of files must not depend on the system.
    bases.sort_by(|a, b| a.name.cmp(&b.name));
    bases.extend((0..40).map(written));
    Ok(bases)
}

/// Writes a random program to a file by Selkie's writer.
fn written(index: u64) -> Base {
    let version = Version::ALL[index as usize % Version::ALL.len()];
    let case = generate::case(0xe1f, index * 31, &[version]);
    let mut text = case.text[..case.slots() * 8].to_vec();
    mend_calls(&mut text, version);
    let calls: Vec<(u32, &str)> = (0..case.slots() as u32)
        .filter(|&pc| !version.static_calls() && pc % 2 == 0 && text[pc as usize * 8] == 0x85)
        .map(|pc| (pc, SYSCALLS[pc as usize % SYSCALLS.len()]))
        .collect();
    let symbol = |name, offset| write::Symbol {
        name,
        kind: write::SymbolKind::Function,
        offset,
        size: 8,
        global: true,
    };
    let image = write::Image {
        version,
        text: &text,
        text_offset: write::TEXT_OFFSET_MIN + index % 3 * 8,
        rodata: &case.text[..case.slots() / 2 * 8],
        entry_pc: case.entry_pc,
        syscalls: &calls,
        symbols: &[symbol("entrypoint", u64::from(case.entry_pc) * 8), symbol("helper", 8)],
        debug: &[],
        strip: index.is_multiple_of(3),
    };
    Base { name: format!("written {index}"), bytes: write::write(&image) }
}

/// Makes calls relative, as in files up to V2, with targets inside the program.
fn mend_calls(text: &mut [u8], version: Version) {
    let slots = text.len() / 8;
    for pc in (0..slots).filter(|_| !version.static_calls()) {
        let slot = &mut text[pc * 8..][..8];
        if slot[0] == 0x85 {
            let target = (pc * 7 + 3) % slots;
            let distance = target as i32 - pc as i32 - 1;
            slot[4..].copy_from_slice(&distance.to_le_bytes());
        }
    }
}

/// The loader's settings, for both sides.
pub(crate) struct Rules {
    anza: Arc<BuiltinProgram<Context>>,
    ours: Environment,
}

impl Rules {
    fn describe(&self) -> String {
        let Environment { versions, syscalls, reject_broken_elfs, optimize_rodata, labels, .. } =
            &self.ours;
        format!(
            "{versions:?} reject_broken_elfs={reject_broken_elfs} \
             optimize_rodata={optimize_rodata} labels={labels} syscalls={}",
            syscalls.names().len()
        )
    }
}

/// Every combination of syscalls and strictness, and some ranges of versions.
pub(crate) fn rules() -> Vec<Rules> {
    let mut rules: Vec<Rules> =
        (0..16).map(|flags| rules_for(Version::V0..=Version::V4, flags)).collect();
    rules.push(rules_for(Version::V0..=Version::V3, 8));
    rules.push(rules_for(Version::V3..=Version::V3, 9));
    rules
}

fn rules_for(versions: RangeInclusive<Version>, flags: u8) -> Rules {
    let has = |bit: u8| flags & bit != 0;
    let (reject_broken_elfs, optimize_rodata, labels) = (has(1), has(2), has(4));
    let names: &[&str] = if has(8) { &SYSCALLS } else { &SYSCALLS[..3] };
    let config = Config {
        reject_broken_elfs,
        optimize_rodata,
        enable_symbol_and_section_labels: labels,
        enabled_sbpf_versions: anza::version(*versions.start())..=anza::version(*versions.end()),
        ..Config::default()
    };
    Rules {
        anza: anza::named_loader(config, names),
        ours: Environment {
            versions,
            syscalls: Arc::new(Syscalls::new(names.iter().copied())),
            reject_broken_elfs,
            optimize_rodata,
            labels,
            text_at_stack: false,
        },
    }
}

/// The result of loading a file by one side.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Loaded {
    version: u8,
    text_vaddr: u64,
    text: Vec<u8>,
    entry_pc: u64,
    read_only_vaddr: u64,
    read_only: Vec<u8>,
    functions: BTreeMap<u32, (u64, String)>,
    verdict: Result<(), String>,
    /// The result of the first instructions, if the verifier accepts the program.
    run: Option<Run>,
    /// Their result by Selkie's JIT; on anza's side that of its interpreter again.
    compiled: Option<Run>,
}

/// Programs of at most this many slots are always compiled.
const COMPILED_SLOTS: usize = 4096;

/// The error's `Debug` text and its message, if there is an error.
type Attempt = Result<Loaded, (String, String)>;

fn load_anza(bytes: &[u8], rules: &Rules) -> Attempt {
    let executable = match Executable::<Context>::from_elf(bytes, Arc::clone(&rules.anza)) {
        Ok(executable) => executable,
        Err(EbpfError::ElfError(error)) => return Err((format!("{error:?}"), error.to_string())),
        Err(error) => return Err((format!("{error:?}"), error.to_string())),
    };
    let (text_vaddr, text) = executable.get_text_bytes();
    let functions = executable
        .get_function_registry()
        .iter()
        .map(|(key, (name, pc))| (key, (pc as u64, String::from_utf8_lossy(name).into_owned())));
    let mut loaded = Loaded {
        version: executable.get_sbpf_version() as u8,
        text_vaddr,
        text: text.to_vec(),
        entry_pc: executable.get_entrypoint_instruction_offset() as u64,
        read_only_vaddr: executable.get_ro_region().vm_addr_range().start,
        read_only: executable.get_ro_section().to_vec(),
        functions: functions.collect(),
        verdict: executable.verify::<RequisiteVerifier>().map_err(|error| match error {
            EbpfError::VerifierError(error) => error.to_string(),
            error => format!("{error:?}"),
        }),
        run: None,
        compiled: None,
    };
    if let Some(case) = loaded.case() {
        loaded.run = anza::interpret(&case, &executable, false).and_then(Result::ok);
        loaded.compiled.clone_from(&loaded.run);
    }
    Ok(loaded)
}

fn load_ours(bytes: &[u8], rules: &Rules) -> Attempt {
    let executable = selkie_elf::load(bytes, &rules.ours)
        .map_err(|error| (format!("{error:?}"), error.to_string()))?;
    let functions = executable
        .functions()
        .iter()
        .map(|(key, function)| (key, (u64::from(function.pc), function.name.clone())));
    let mut loaded = Loaded {
        version: executable.version() as u8,
        text_vaddr: executable.text_vaddr(),
        text: executable.text().to_vec(),
        entry_pc: u64::from(executable.entry_pc()),
        read_only_vaddr: executable.read_only().vaddr,
        read_only: executable.read_only().bytes.to_vec(),
        functions: functions.collect(),
        verdict: verify(&executable).map_err(|error| error.to_string()),
        run: None,
        compiled: None,
    };
    if let Some(case) = loaded.case() {
        let program = Program::new(executable);
        loaded.run = ours::run_program(&case, &program, &Gear::Run, Calls::Same).ok();
        // Compiling a large program takes longer than everything else.
        loaded.compiled = if MachineCode::SUPPORTED
            && (case.slots() < COMPILED_SLOTS || case.budget.is_multiple_of(8))
        {
            let plan = Plan::from_rng(&mut Rng::new(loaded.entry_pc, case.budget));
            ours::run_program(&case, &program, &Gear::Jit(plan), Calls::Same).ok()
        } else {
            loaded.run.clone()
        };
    }
    Ok(loaded)
}

impl Loaded {
    /// The expectations of a conformance vector, without names of functions.
    fn expectation(&self) -> String {
        let Self { text_vaddr, text, entry_pc, read_only_vaddr, read_only, .. } = self;
        let functions: Vec<String> =
            self.functions.iter().map(|(key, (pc, _))| format!("[{key},{pc}]")).collect();
        let verdict = self.verdict.as_ref().err().map_or("true".to_owned(), |text| quoted(text));
        format!(
            "{{\"text_vaddr\":{text_vaddr},\"text_len\":{},\"text_fnv\":{},\
             \"entry_pc\":{entry_pc},\"ro_vaddr\":{read_only_vaddr},\"ro_len\":{},\
             \"ro_fnv\":{},\"functions\":[{}],\"verify\":{verdict}}}",
            text.len(),
            fnv1a(text),
            read_only.len(),
            fnv1a(read_only),
            functions.join(","),
        )
    }

    /// A case that runs the program, if it can be run. Both sides get the same case if they loaded the
    /// same program.
    fn case(&self) -> Option<Case> {
        self.verdict.as_ref().ok()?;
        let version = *Version::ALL.get(usize::from(self.version))?;
        let program = RegionSpec::new(self.read_only_vaddr, self.read_only.clone(), false);
        let mut rng = Rng::new(self.text.len() as u64, self.entry_pc);
        let entry_pc = u32::try_from(self.entry_pc).ok()?;
        Some(generate::around(&mut rng, version, self.text.clone(), program, entry_pc))
    }
}

fn differences(anza: &Attempt, ours: &Result<Attempt, String>) -> String {
    let mut text = String::new();
    let mut differ = |what: &str, anza: &dyn core::fmt::Debug, ours: &dyn core::fmt::Debug| {
        let _ = writeln!(text, "{what}: anza {anza:x?}, ours {ours:x?}");
    };
    match (anza, ours) {
        (Ok(a), Ok(Ok(b))) => {
            macro_rules! compare {
                ($($field:ident)*) => {
                    $(if a.$field != b.$field { differ(stringify!($field), &a.$field, &b.$field) })*
                };
            }
            compare!(version text_vaddr entry_pc read_only_vaddr verdict);
            // From V3 functions are only names for tools. anza's engine takes them from any symbols and
            // truncates their slots to keys; Selkie leaves out those beyond the text.
            let slots = a.text.len() as u64 / 8;
            if a.version < 3 || a.functions.values().all(|(pc, _)| *pc < slots) {
                compare!(functions);
            }
            let runs = [("run", &a.run, &b.run), ("run, compiled", &a.compiled, &b.compiled)];
            for (what, a, b) in runs.into_iter().filter(|(_, a, b)| a != b) {
                let end = |it: &Option<Run>| it.as_ref().map(|it| (it.end.clone(), it.consumed));
                differ(what, &end(a), &end(b));
            }
            for (what, a, b) in [("text", &a.text, &b.text), ("rodata", &a.read_only, &b.read_only)]
            {
                if a != b {
                    let at = a.iter().zip(b).position(|(a, b)| a != b);
                    differ(what, &(a.len(), at), &(b.len(), at));
                }
            }
        }
        (Err(a), Ok(Err(b))) if a == b => {}
        _ => {
            let short = |it: &Attempt| it.as_ref().map(|_| "loaded").map_err(Clone::clone);
            differ("load", &short(anza), &ours.as_ref().map(short));
        }
    }
    text
}

/// Counts of loaded files and of their results.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) files: u64,
    /// Files on which anza's engine panics, so that there is nothing to compare.
    anza_panics: u64,
    outcomes: BTreeMap<String, u64>,
    by_version: BTreeMap<String, [u64; 3]>,
    pub(crate) differing: Vec<(u64, String)>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.anza_panics += other.anza_panics;
        self.differing.extend(other.differing);
        for (key, count) in other.outcomes {
            *self.outcomes.entry(key).or_default() += count;
        }
        for (key, counts) in other.by_version {
            let sums = self.by_version.entry(key).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Formats the counts as a table.
    pub(crate) fn report(&self) -> String {
        let mut text = String::from("files       verified    loaded   refused\n");
        for (version, [verified, loaded, refused]) in &self.by_version {
            let _ = writeln!(text, "{version:<9} {verified:>10} {loaded:>9} {refused:>9}");
        }
        let _ = writeln!(text, "outcomes");
        for (name, count) in &self.outcomes {
            let _ = writeln!(text, "{count:>10} {name}");
        }
        let _ = writeln!(
            text,
            "{} files, {} on which anza's engine panics, {} differences",
            self.files,
            self.anza_panics,
            self.differing.len(),
        );
        text
    }
}

/// Loads the files of `indices` until `stop` returns true.
pub(crate) fn run(
    seed: u64,
    bases: &[Base],
    rules: &[Rules],
    indices: impl Iterator<Item = u64>,
    mut stop: impl FnMut(&Tally) -> bool,
) -> Tally {
    let mut tally = Tally::default();
    for index in indices {
        let mut rng = Rng::new(seed, index);
        let base = pick_base(&mut rng, bases);
        let rules = &rules[rng.below(rules.len())];
        let mutation = mutate::mutation(&mut rng, &base.bytes);
        compare(seed, index, base, rules, &mutation, &mut tally);
        if stop(&tally) {
            break;
        }
    }
    tally
}

/// Picks a file. Large ones take long, and are picked less often.
fn pick_base<'b>(rng: &mut Rng, bases: &'b [Base]) -> &'b Base {
    loop {
        let base = &bases[rng.below(bases.len())];
        if rng.below(base.bytes.len() + 1) < 6000 {
            return base;
        }
    }
}

fn compare(
    seed: u64,
    index: u64,
    base: &Base,
    rules: &Rules,
    mutation: &Mutation,
    tally: &mut Tally,
) {
    tally.files += 1;
    let bytes = mutation.apply(&base.bytes);
    let Some(difference) = look(&bytes, rules, Some(tally)) else {
        tally.anza_panics += 1;
        return;
    };
    if difference.is_empty() {
        return;
    }
    let first_word = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
    let small = mutation.shrink(|mutation| {
        look(&mutation.apply(&base.bytes), rules, None)
            .is_some_and(|found| first_word(&found) == first_word(&difference))
    });
    let bytes = small.apply(&base.bytes);
    let found = look(&bytes, rules, None).unwrap_or_default();
    let program = match bytes.len() {
        0..4000 => format!("\"elf\":\"{}\"", hex(&bytes)),
        _ => format!("\"base\":\"{}\",{}", base.name.trim_end_matches(".so"), small.to_json()),
    };
    let text = format!(
        "seed {seed}, file {index}, base {}, {}\n{}{found}{}\n",
        base.name,
        rules.describe(),
        small.describe(&base.bytes),
        vector(&format!("oracle seed {seed} file {index}"), &program, &bytes, rules),
    );
    tally.differing.push((index, text));
}

/// A conformance vector of the kind `elf_load`, with the result of anza's engine.
fn vector(name: &str, program: &str, bytes: &[u8], rules: &Rules) -> String {
    let Environment { versions, syscalls, reject_broken_elfs, optimize_rodata, labels, .. } =
        &rules.ours;
    let names: Vec<String> = syscalls.names().map(quoted).collect();
    let expected = match load_anza(bytes, rules) {
        Ok(loaded) => loaded.expectation(),
        Err((debug, display)) => error_expectation(&debug, &display),
    };
    format!(
        "{{\"name\":\"{name}\",\"kind\":\"elf_load\",{program},\"syscalls\":[{}],\"config\":{{\
         \"enabled_sbpf_versions\":[{},{}],\"reject_broken_elfs\":{reject_broken_elfs},\
         \"optimize_rodata\":{optimize_rodata},\"enable_symbol_and_section_labels\":{labels}}},\
         \"expect\":{expected}}}",
        names.join(","),
        *versions.start() as u8,
        *versions.end() as u8,
    )
}

/// Returns the differences between the sides on a file, or `None` if anza's engine panics.
fn look(bytes: &[u8], rules: &Rules, tally: Option<&mut Tally>) -> Option<String> {
    let anza = ours::catch(panic::AssertUnwindSafe(|| load_anza(bytes, rules))).ok()?;
    let ours = ours::catch(|| load_ours(bytes, rules));
    if let Some(tally) = tally {
        let outcome = match &anza {
            Ok(Loaded { verdict: Ok(()), run, .. }) => {
                let end = run.as_ref().map_or("not run".into(), Run::outcome);
                format!("verified; {end}")
            }
            Ok(Loaded { verdict: Err(error), .. }) => format!("loaded; {}", kind_of(error)),
            Err((debug, display)) => {
                let name = debug.split('(').next().unwrap_or_default();
                if name == "FailedToParse" { kind_of(display) } else { name.into() }
            }
        };
        *tally.outcomes.entry(outcome).or_default() += 1;
        let version =
            bytes.get(48).filter(|&&it| it < 5).map_or("other".into(), |it| format!("V{it}"));
        let column = match &anza {
            Ok(Loaded { verdict: Ok(()), .. }) => 0,
            Ok(_) => 1,
            Err(_) => 2,
        };
        tally.by_version.entry(version).or_default()[column] += 1;
    }
    Some(differences(&anza, &ours))
}

#[cfg(test)]
mod tests {
    use selkie_conform::{Context, Verdict, elf_load};

    use super::*;

    #[test]
    fn vectors_are_what_conformance_runs() {
        let (bases, rules) = (bases(Path::new("")).expect("no folder to read"), rules());
        let context = Context::new(Path::new("oracle.jsonl"), Arc::default()).expect("built in");
        for index in 0..400 {
            let mut rng = Rng::new(5, index);
            let base = pick_base(&mut rng, &bases);
            let rules = &rules[rng.below(rules.len())];
            let bytes = mutate::mutation(&mut rng, &base.bytes).apply(&base.bytes);
            if !look(&bytes, rules, None).is_some_and(|it| it.is_empty()) || bytes.is_empty() {
                continue;
            }
            let vector = vector("test", &format!("\"elf\":\"{}\"", hex(&bytes)), &bytes, rules);
            let line = serde_json::from_str(&vector).expect("vectors are JSON");
            let verdict = elf_load::judge(&line, &context).expect("vectors are readable");
            assert!(matches!(verdict, Verdict::Passed), "{verdict:?}: {vector}");
        }
    }
}
