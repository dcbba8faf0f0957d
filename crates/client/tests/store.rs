//! Programs that one process writes to disk and another one loads.

use std::{fs, path::PathBuf, sync::Arc};

use selkie::{Engine, Feature, Instruction, Keypair, Signer, Svm, address, keypair};
use selkie_client::{StoreStatistics, StoredPrograms};
use selkie_svm::{ProgramCache, program_cache::CacheStatistics};

/// Assembles a program that counts down and logs a word.
fn program(word: &str) -> Vec<u8> {
    let source = format!(
        ".rodata\nword: .ascii \"{word}\"\n.text\n.globl entrypoint\nentrypoint:\n\
         mov64 r6, 5000\nagain:\nsub64 r6, 1\njne r6, 0, again\n\
         lddw r1, word\nmov64 r2, {}\ncall sol_log_\nmov64 r0, 0\nexit\n",
        word.len()
    );
    let output = selkie_asm::assemble(&source, &selkie_asm::Options::default());
    output.assembly.unwrap().to_elf()
}

/// A temporary folder, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("selkie-store-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn programs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let mut programs: Vec<_> =
            entries.filter(|path| path.extension().is_some_and(|it| it == "program")).collect();
        programs.sort();
        programs
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A simulated process: a program cache of its own over a store in a folder.
struct Process {
    svm: Svm,
    store: Arc<StoredPrograms>,
    payer: Keypair,
}

impl Process {
    fn start(folder: &Folder, words: &[&str]) -> Self {
        let store = Arc::new(StoredPrograms::open(&folder.0).unwrap());
        let cache = ProgramCache::new().with_store(store.clone());
        let mut svm = Svm::new().with_program_cache(cache).with_engine(Engine::Jit);
        let payer = keypair("payer");
        svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
        for word in words {
            svm.add_program(address(word), program(word)).unwrap();
        }
        Self { svm, store, payer }
    }

    fn say(&mut self, word: &str) {
        let call = Instruction { program_id: address(word), accounts: vec![], data: vec![] };
        let receipt = self.svm.send_instructions(&[call], &[&self.payer]).unwrap();
        assert_eq!(receipt.logs[1], format!("Program log: {word}"));
        assert_eq!(receipt.compute_units, 10_106);
    }

    fn persist(&self) -> usize {
        self.svm.program_cache().persist()
    }

    fn cache(&self) -> CacheStatistics {
        self.svm.program_cache().statistics()
    }

    fn disk(&self) -> StoreStatistics {
        self.store.statistics()
    }
}

#[test]
fn a_restart_loads_programs_from_disk() {
    let folder = Folder::new("restart");
    let mut cold = Process::start(&folder, &["one", "two"]);
    cold.say("one");
    cold.say("two");
    assert_eq!(cold.persist(), 2);
    assert_eq!((cold.cache().restored, cold.disk().missing), (0, 2));

    let mut warm = Process::start(&folder, &["one", "two", "new"]);
    warm.say("one");
    warm.say("two");
    warm.say("new");
    assert_eq!((warm.cache().restored, warm.disk().found, warm.disk().missing), (2, 2, 1));
    let files = warm.store.files().unwrap();
    assert_eq!(files.iter().map(|file| file.is_sound).collect::<Vec<_>>(), [true, true]);
    let code = warm.svm.program_cache().programs();
    assert!(code.iter().all(|program| program.loaded_bytes > 0));
    assert_eq!(warm.store.clear().unwrap(), 2);
    assert_eq!(warm.store.files().unwrap(), []);
}

#[test]
fn modified_and_truncated_files_are_not_loaded() {
    let folder = Folder::new("tampering");
    let mut first = Process::start(&folder, &["one"]);
    first.say("one");
    first.persist();
    let path = folder.programs().remove(0);
    let sound = fs::read(&path).unwrap();
    let offsets = [0, 31, 32, 39, 40, 100, sound.len() / 2, sound.len() - 1];
    let broken = offsets.map(|offset| {
        let mut broken = sound.clone();
        broken[offset] ^= 1;
        broken
    });
    let cut = [0, 1, 32, 40, sound.len() - 1].map(|len| sound[..len].to_vec());
    let longer = [&sound[..], &[0]].concat();
    for bytes in broken.into_iter().chain(cut).chain([longer]) {
        fs::write(&path, bytes).unwrap();
        let mut process = Process::start(&folder, &["one"]);
        process.say("one");
        assert_eq!((process.disk().refused, process.cache().restored), (1, 0));
        assert!(process.store.files().unwrap().iter().all(|file| !file.is_sound));
    }
    // Writing again replaces the damaged file.
    let mut process = Process::start(&folder, &["one"]);
    process.say("one");
    process.persist();
    let mut process = Process::start(&folder, &["one"]);
    process.say("one");
    assert_eq!(process.cache().restored, 1);
}

#[test]
fn swapped_files_are_not_loaded() {
    let folder = Folder::new("swapped");
    let mut first = Process::start(&folder, &["one", "two"]);
    first.say("one");
    first.say("two");
    first.persist();
    let [one, two] = folder.programs().try_into().unwrap();
    let contents = [fs::read(&one).unwrap(), fs::read(&two).unwrap()];
    fs::write(&one, &contents[1]).unwrap();
    fs::write(&two, &contents[0]).unwrap();
    let mut process = Process::start(&folder, &["one", "two"]);
    process.say("one");
    process.say("two");
    assert_eq!(process.disk().refused, 2);
}

#[test]
fn files_sealed_with_another_key_are_not_loaded() {
    let (folder, other) = (Folder::new("ours"), Folder::new("theirs"));
    for folder in [&folder, &other] {
        let mut process = Process::start(folder, &["one"]);
        process.say("one");
        process.persist();
    }
    let (ours, theirs) = (folder.programs().remove(0), other.programs().remove(0));
    assert_ne!(ours.file_name(), theirs.file_name(), "even names depend on the key");
    fs::copy(&theirs, &ours).unwrap();
    let mut process = Process::start(&folder, &["one"]);
    process.say("one");
    assert_eq!((process.disk().refused, process.cache().restored), (1, 0));
}

#[test]
fn programs_are_stored_per_environment() {
    let folder = Folder::new("environments");
    let mut process = Process::start(&folder, &["one"]);
    process.say("one");
    process.persist();
    let mut process = Process::start(&folder, &["one"]);
    process.svm.activate_feature(Feature::VirtualAddressSpaceAdjustments);
    let restored = process.cache().restored;
    process.say("one");
    assert_eq!(
        process.cache().restored,
        restored,
        "the feature gives each account its own memory region"
    );
    process.persist();
    assert_eq!(folder.programs().len(), 2);
    let mut process = Process::start(&folder, &[]);
    process.svm.activate_feature(Feature::VirtualAddressSpaceAdjustments);
    process.svm.add_program(address("one"), program("one")).unwrap();
    process.say("one");
    assert_eq!(process.cache().restored, 1);
}

#[cfg(unix)]
#[test]
fn files_are_accessible_to_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("key");
    let mut process = Process::start(&folder, &["one"]);
    process.say("one");
    process.persist();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    assert_eq!(mode(&folder.0.join("key")), 0o600);
    assert_eq!(mode(&folder.programs()[0]), 0o600);
}

/// Returns why a folder is refused, without its path.
#[cfg(unix)]
fn refusal(folder: &std::path::Path) -> String {
    let error = StoredPrograms::open(folder).expect_err("another user may have created it");
    assert!(!error.help().is_empty());
    let text = error.to_string();
    let rest = text.strip_prefix(&format!("{}", folder.display()));
    rest.unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[cfg(unix)]
#[test]
fn folders_and_keys_with_permissive_modes_are_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("modes");
    StoredPrograms::open(&folder.0).unwrap();
    let set = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for mode in [0o770, 0o702, 0o777, 0o720] {
        set(&folder.0, mode);
        let expected = format!(" is writable by other users (mode {mode:o})");
        assert_eq!(refusal(&folder.0), expected);
    }
    // Other users may read the folder: only the key is secret.
    for mode in [0o755, 0o700] {
        set(&folder.0, mode);
        StoredPrograms::open(&folder.0).unwrap();
    }
    let key = folder.0.join("key");
    for mode in [0o640, 0o604, 0o620, 0o666] {
        set(&key, mode);
        let expected = format!("/key is accessible to other users (mode {mode:o})");
        assert_eq!(refusal(&folder.0), expected);
    }
    set(&key, 0o400);
    StoredPrograms::open(&folder.0).unwrap();
}

/// Root can change owners; for other users, `/usr` belongs to another user.
#[cfg(unix)]
#[test]
fn folders_and_keys_of_other_users_are_refused() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let folder = Folder::new("owners");
    StoredPrograms::open(&folder.0).unwrap();
    let user = fs::metadata(&folder.0).unwrap().uid();
    if user != 0 {
        let expected = format!(" belongs to user 0, but this process runs as user {user}");
        assert_eq!(refusal("/usr".as_ref()), expected);
        return;
    }
    let expected = " belongs to user 4321, but this process runs as user 0";
    chown(&folder.0, Some(4321), None).unwrap();
    assert_eq!(refusal(&folder.0), expected);
    chown(&folder.0, Some(0), None).unwrap();
    chown(folder.0.join("key"), Some(4321), None).unwrap();
    assert_eq!(refusal(&folder.0), format!("/key{expected}"));
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let kind = " is a symbolic link or has an unexpected file type";
    let (folder, other) = (Folder::new("links"), Folder::new("linked"));
    let mut process = Process::start(&other, &["one"]);
    process.say("one");
    process.persist();
    symlink(&other.0, &folder.0).unwrap();
    assert_eq!(refusal(&folder.0), kind);
    fs::remove_file(&folder.0).unwrap();
    // A symbolic link to another store's key, then one to its program file.
    fs::create_dir(&folder.0).unwrap();
    symlink(other.0.join("key"), folder.0.join("key")).unwrap();
    assert_eq!(refusal(&folder.0), format!("/key{kind}"));
    fs::remove_file(folder.0.join("key")).unwrap();
    fs::copy(other.0.join("key"), folder.0.join("key")).unwrap();
    let program = other.programs().remove(0);
    symlink(&program, folder.0.join(program.file_name().unwrap())).unwrap();
    let mut process = Process::start(&folder, &["one"]);
    process.say("one");
    assert_eq!((process.disk().found, process.disk().missing), (0, 1));
    // Writing replaces the symbolic link, not its target.
    let before = fs::metadata(&program).unwrap().modified().unwrap();
    process.persist();
    assert!(folder.programs()[0].symlink_metadata().unwrap().is_file());
    assert_eq!(fs::metadata(&program).unwrap().modified().unwrap(), before);
}

#[test]
fn a_key_of_another_length_is_refused() {
    let folder = Folder::new("no-key");
    StoredPrograms::open(&folder.0).unwrap();
    for len in [0, 31, 33, 100] {
        fs::write(folder.0.join("key"), vec![7; len]).unwrap();
        let error = StoredPrograms::open(&folder.0).unwrap_err();
        let expected = format!("{} is not a valid key", folder.0.join("key").display());
        assert_eq!(error.to_string(), expected);
        assert!(error.help().starts_with("delete "), "{}", error.help());
    }
}

#[test]
fn a_store_keeps_using_the_checked_folder_after_it_moves() {
    let (folder, moved) = (Folder::new("moving"), Folder::new("moved"));
    let mut process = Process::start(&folder, &["one"]);
    process.say("one");
    if cfg!(unix) {
        fs::rename(&folder.0, &moved.0).unwrap();
        fs::create_dir(&folder.0).unwrap();
        assert_eq!(process.persist(), 1);
        assert_eq!((folder.programs().len(), moved.programs().len()), (0, 1));
    }
}

#[test]
fn concurrent_processes_share_a_folder() {
    let folder = Folder::new("shared");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut process = Process::start(&folder, &["one", "two", "three"]);
                for word in ["one", "two", "three"] {
                    process.say(word);
                    process.persist();
                }
            });
        }
    });
    let store = StoredPrograms::open(&folder.0).unwrap();
    let files = store.files().unwrap();
    assert_eq!((files.len(), files.iter().filter(|file| file.is_sound).count()), (3, 3));
}
