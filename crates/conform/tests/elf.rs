//! Every kind that takes an ELF file, with a small one, a right and a wrong expectation.

use std::{fs, path::PathBuf, sync::Arc};

use selkie_conform::{
    BadVector, Context, KINDS, Verdict,
    context::Elfs,
    elf_load, elf_loader,
    vector::{fnv1a, hex},
};
use serde_json::{Value, json};

/// Returns a program of V3: eight bytes of read-only data, then `exit`.
fn program() -> Vec<u8> {
    let mut bytes = vec![0; 64 + 2 * 56];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[18] = 247;
    bytes[20] = 1;
    bytes[28] = 1;
    bytes[32] = 64;
    bytes[48] = 3;
    bytes[52] = 64;
    bytes[54] = 56;
    bytes[56] = 2;
    for (header, flags, offset, window) in [(64, 4, 176, 0), (120, 1, 184, 1)] {
        bytes[header] = 1;
        bytes[header + 4] = flags;
        bytes[header + 8] = offset;
        bytes[header + 20] = window;
        bytes[header + 28] = window;
        bytes[header + 32] = 8;
        bytes[header + 40] = 8;
    }
    bytes.extend(b"readonly");
    bytes.extend([0x95, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

fn context() -> Context {
    Context::new("vectors.jsonl".as_ref(), Arc::default()).unwrap()
}

fn passes(verdict: Result<Verdict, BadVector>) -> bool {
    verdict.unwrap() == Verdict::Passed
}

/// Returns the right expectation of `elf_load` for the program.
fn loaded() -> Value {
    json!({
        "text_vaddr": 1_u64 << 32, "text_len": 8, "text_fnv": "7af20a1b180779b0", "entry_pc": 0,
        "ro_vaddr": 0, "ro_len": 8, "ro_fnv": "9e0e972928236e97", "functions": [], "verify": "ok",
    })
}

fn elf_load(fields: Value) -> Result<Verdict, BadVector> {
    let mut line = json!({"kind": "elf_load", "elf": hex(&program())});
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    elf_load::judge(&line, &context())
}

#[test]
fn elf_load_compares_expectations_in_every_position() {
    assert_eq!(elf_load(json!({"expect": loaded()})), Ok(Verdict::Passed));
    assert_eq!(elf_load(json!({"expect": {"ok": loaded()}})), Ok(Verdict::Passed));
    assert_eq!(elf_load(loaded()), Ok(Verdict::Passed));
    for (field, _) in loaded().as_object().unwrap() {
        let wrong = match field.as_str() {
            "functions" => json!([[1, 0, "main"]]),
            "verify" => json!({"err": "NoProgram"}),
            _ => json!(77),
        };
        assert!(!passes(elf_load(json!({"expect": {field: wrong}}))), "{field}");
    }
}

#[test]
fn elf_load_fails_without_a_supported_expectation() {
    assert!(elf_load(json!({"expect": {}})).is_err());
    assert!(elf_load(json!({"expect": {"unknown": 1}})).is_err());
    assert!(elf_load::judge(&json!({"expect": loaded()}), &context()).is_err());
}

#[test]
fn elf_load_does_not_take_inputs_of_other_kinds_for_expectations() {
    let inputs = json!({"functions": [[1, 1, "main"]], "entry_pc": 5, "expect": loaded()});
    assert_eq!(elf_load(inputs), Ok(Verdict::Passed));
}

#[test]
fn elf_load_compares_errors_by_name_and_texts() {
    let broken = |expect: Value| elf_load(json!({"patches": [[64, "02"]], "expect": expect}));
    let display = "Invalid ELF program header";
    assert!(passes(broken(json!({"err": "InvalidProgramHeader", "display": display}))));
    let wrapped = format!("ELF error: {display}");
    assert!(passes(broken(json!({
        "err": "ElfError", "debug": "ElfError(InvalidProgramHeader)", "display": wrapped,
    }))));
    assert!(!passes(broken(json!({"err": "ValueOutOfBounds"}))));
    assert!(!passes(broken(json!({"display": "no"}))));
    assert!(!passes(broken(loaded())));
    assert!(!passes(elf_load(json!({"expect": {"err": "InvalidProgramHeader"}}))));
}

#[test]
fn elf_load_applies_the_engine_configuration() {
    let config = json!({"enabled_sbpf_versions": [0, 2]});
    let expect = json!({"err": "UnsupportedSBPFVersion"});
    assert!(passes(elf_load(json!({"config": config, "expect": expect}))));
}

#[test]
fn elf_loader_compares_every_field() {
    let right = json!({
        "err": 0, "rodata_hash": "e3ef909fd56a2756", "rodata_len": 8, "text_cnt": 1, "text_off": 0,
        "entry_pc": 0, "calldests_hash": "ef46db3751d8e999", "sbpf": 3, "verify": 0,
        "text_hash": "ce73a1e98315bdf7",
    });
    let judge = |exp: &Value| {
        let line = json!({"kind": "syn", "elf": hex(&program()), "profile": "all", "exp": exp});
        assert!(elf_loader::matches(&line));
        elf_loader::judge(&line, &context())
    };
    assert_eq!(judge(&right), Ok(Verdict::Passed));
    for (field, value) in right.as_object().unwrap() {
        let mut wrong = right.clone();
        wrong[field] = if value.is_string() { json!("77") } else { json!(77) };
        assert!(!passes(judge(&wrong)), "{field}");
    }
}

#[test]
fn elf_loader_applies_the_feature_profile() {
    let judge = |profile: &str, err: u32| {
        let exp = json!({"err": err});
        let line = json!({"elf": hex(&program()), "profile": profile, "deploy": true, "exp": exp});
        elf_loader::judge(&line, &context())
    };
    // Without features only V0 is enabled.
    assert!(passes(judge("none", 22)));
    assert!(!passes(judge("mainnet", 22)));
    assert!(judge("nowhere", 0).is_err());
}

#[test]
fn elf_loader_rejects_a_file_with_another_sha() {
    let line = |sha: &str| json!({"elf": "00", "sha": sha, "profile": "all", "exp": {"err": 21}});
    assert!(passes(elf_loader::judge(&line("6e340b9cffb37a98"), &context())));
    assert!(elf_loader::judge(&line("0000000000000000"), &context()).is_err());
}

#[test]
fn the_names_of_kinds_are_unique() {
    let mut names: Vec<_> = selkie_conform::KINDS.iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), selkie_conform::KINDS.len());
}

#[test]
fn environments_beside_the_vectors_take_precedence_over_the_built_in_ones() {
    let folder = std::env::temp_dir().join(format!("selkie-environments-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let own = json!({"own/deploy": {
        "sbpf_min": 3, "sbpf_max": 3, "reject_broken_elfs": true, "optimize_rodata": false,
        "aligned_memory_mapping": true, "enable_stack_frame_gaps": true,
        "syscalls": [{"murmur3": "207559bd", "name": "sol_log_"}],
    }});
    fs::write(folder.join("environments.json"), own.to_string()).unwrap();
    let context = Context::new(&folder.join("vectors.jsonl"), Arc::default()).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(context.profile("own", true).unwrap().environment.syscalls.names().len(), 1);
    assert_eq!(context.profile("mainnet", true).unwrap().environment.syscalls.names().len(), 38);
}

/// A temporary folder with the program and an invalid file, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("selkie-elf-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("program.so"), program()).unwrap();
        fs::write(path.join("broken.so"), &program()[..100]).unwrap();
        Self(path)
    }

    /// Judges a vector with this folder as the folder of ELF files.
    fn judge(&self, line: &Value) -> Result<Verdict, BadVector> {
        let elfs = Arc::new(Elfs::new(Some(self.0.clone())));
        let context = Context::new("vectors.jsonl".as_ref(), elfs).unwrap();
        judge(line, &context)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let kind = KINDS.iter().find(|kind| (kind.matches)(line)).unwrap();
    (kind.judge)(line, context)
}

/// Returns a vector of each kind that takes a program, with a right and a wrong expectation.
fn program_vectors() -> [(Value, Value, Value); 4] {
    let node = |end: u32| {
        json!([
            {"pc": 0, "label": "function_0", "src": [1], "dst": [], "insns": [0, end], "idom": 1},
            {"pc": 1, "label": "super_root", "src": [], "dst": [0], "insns": [1, 1], "idom": 1},
        ])
    };
    let exec = json!({"kind": "exec", "budget": 5, "insn_count": 1, "cu_left": 4, "final_pc": 0});
    [
        (exec, json!({"ok": 0}), json!({"ok": 1})),
        (json!({"kind": "verify"}), json!({"ok": 0}), json!({"err": "NoProgram"})),
        (json!({"kind": "cfg"}), node(1), node(0)),
        (json!({"kind": "disasm"}), json!("function_0:\n    exit\n"), json!("exit\n")),
    ]
}

#[test]
fn programs_are_loaded_from_files_by_name_and_by_hash() {
    let folder = Folder::new("named");
    let hash = fnv1a(&program());
    for (line, right, wrong) in program_vectors() {
        for (field, name) in [
            ("elf_fnv", json!(format!("{hash:016x}"))),
            ("elf_fnv", json!(format!("{hash:#x}"))),
            ("elf_fnv", json!(hash)),
            ("elf", json!("program")),
            ("elf", json!(hex(&program()))),
        ] {
            let mut line = line.clone();
            line[field] = name;
            line["expect"] = right.clone();
            assert_eq!(folder.judge(&line), Ok(Verdict::Passed), "{line}");
            line["expect"] = wrong.clone();
            assert!(!passes(folder.judge(&line)), "{line}");
        }
    }
}

#[test]
fn instructions_take_precedence_over_the_file_beside_them() {
    let folder = Folder::new("both");
    let line = json!({
        "kind": "exec", "elf_fnv": fnv1a(&program()), "text": "b7000000030000009500000000000000",
        "budget": 5, "expect": {"ok": 3},
    });
    assert_eq!(folder.judge(&line), Ok(Verdict::Passed));
}

#[test]
fn a_missing_file_is_skipped_and_a_vector_without_a_program_fails() {
    let folder = Folder::new("missing");
    for (line, right, _) in program_vectors() {
        let mut line = line.clone();
        line["expect"] = right;
        assert!(folder.judge(&line).is_err(), "{line}");
        line["elf_fnv"] = json!("0123456789abcdef");
        let Ok(Verdict::Skipped(why)) = folder.judge(&line) else { panic!("must skip: {line}") };
        assert!(why.starts_with("ELF file 0123456789abcdef is not in"), "{why}");
    }
}

#[test]
fn vectors_can_expect_that_a_file_is_rejected() {
    let folder = Folder::new("refused");
    for (line, right, _) in program_vectors() {
        let mut line = line.clone();
        line["elf"] = json!("broken");
        line["expect"] = right;
        assert!(!passes(folder.judge(&line)), "{line}");
    }
    let exec = |err: &str| {
        folder.judge(&json!({"kind": "exec", "elf": "broken", "budget": 5, "expect": {"err": err}}))
    };
    assert!(passes(exec("ElfError")));
    assert!(!passes(exec("DivideByZero")));
}

#[test]
fn programs_are_found_in_an_archive_beside_the_vectors() {
    let folder = Folder::new("archive");
    let path = folder.0.join("suite-elfs.tar");
    let mut archive = tar::Builder::new(fs::File::create(path).unwrap());
    let mut header = tar::Header::new_ustar();
    header.set_size(program().len() as u64);
    archive.append_data(&mut header, "./packed.elf", program().as_slice()).unwrap();
    archive.into_inner().unwrap();
    let line = json!({"kind": "exec", "elf": "packed", "budget": 5, "expect": {"ok": 0}});
    for elfs in [None, Some(folder.0.clone())] {
        let elfs = Arc::new(Elfs::new(elfs));
        let context = Context::new(&folder.0.join("vectors.jsonl"), elfs).unwrap();
        assert_eq!(judge(&line, &context), Ok(Verdict::Passed));
    }
}
