//! `selkie batch`: items in Parquet files are run, verified and compared.

mod common;
#[path = "common/items.rs"]
mod items;

use std::{fs, path::Path};

use arrow_array::RecordBatch;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use common::{folder, selkie};
use items::{FILES, ROWS, digest, read, run, write, write_contents, write_items};
use selkie::{Signer, Svm, keypair, programs, system, token};
use selkie_batch::{Base, FuzzFile, Item, Items, Kind, record, schema};
use selkie_case::firedancer::transaction_fixture;
use selkie_node::Node;
use selkie_replay::ReplayFile;

#[test]
fn all_ways_to_run_items_have_one_digest() {
    let folder = folder("batch-run");
    write_items(&folder, 1_000_000_000);
    let one = run(&folder, "one", &["--threads", "1"]);
    assert_eq!(one.code, Some(0), "{one:#?}");
    let report = one.json();
    assert_eq!(report["items"], ROWS * FILES);
    assert_eq!(report["statuses"]["Failed"], 17);
    assert_eq!(report["compute_units"], 150 * ROWS * FILES);
    let more = ["--threads", "5", "--engine", "interpreter", "--rows", "7"];
    let five = run(&folder, "five", &more);
    assert_eq!(digest(&five), digest(&one));
    let expected = digest(&one);
    let verify = ["--json", "batch", "verify", "five", "--items", ".", "--digest", &expected];
    let verified = selkie(&folder, &verify);
    assert_eq!(verified.code, Some(0), "{verified:#?}");
    assert_eq!(verified.json()["distinct"], ROWS * FILES);
}

#[test]
fn files_that_replace_programs_are_checked_before_anything_runs() {
    let folder = folder("batch-program");
    write_items(&folder, 1_000_000_000);
    let refused =
        run(&folder, "out", &["--program", &format!("{}=items/0.parquet", keypair("p").pubkey())]);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.text().contains("items/0.parquet would not be deployed"), "{refused:#?}");
    assert!(!folder.join("out").exists());
    let unclear = run(&folder, "out", &["--program", "token=items/0.parquet"]);
    assert!(unclear.text().contains("`token` is no address"), "{unclear:#?}");
}

#[test]
fn a_run_goes_on_where_it_was_killed() {
    let folder = folder("batch-resume");
    write_items(&folder, 1_000_000_000);
    let whole = run(&folder, "out", &[]);
    // A kill leaves complete files, and a part of one.
    fs::rename(folder.join("out/2.parquet"), folder.join("out/2.parquet.part")).expect("it exists");
    let again = run(&folder, "out", &[]);
    assert_eq!(again.json()["files_skipped"], 2);
    assert_eq!(digest(&again), digest(&whole));
    assert!(!folder.join("out/2.parquet.part").exists());
}

#[test]
fn results_of_other_items_or_options_are_not_taken_for_these() {
    let folder = folder("batch-stale");
    write_items(&folder, 1_000_000_000);
    let first = run(&folder, "out", &[]);
    let other = run(&folder, "out", &["--logs"]);
    assert_eq!(other.code, Some(2), "{other:#?}");
    let report = other.json();
    let (error, help) = (report["error"].to_string(), report["help"].to_string());
    assert!(error.contains("results of other items, programs or options"), "{error}");
    assert!(help.contains("--restart"), "{help}");
    assert_eq!(run(&folder, "out", &["--logs", "--restart"]).json()["files_skipped"], 0);
    // The engine and the number of threads change no result.
    let same = run(&folder, "out", &["--logs", "--engine", "interpreter", "--threads", "1"]);
    assert_eq!(same.json()["files_skipped"], FILES);
    assert_eq!(digest(&same), digest(&first));
    write_items(&folder, 2_000_000_000);
    assert_eq!(run(&folder, "out", &["--logs"]).code, Some(2));
}

#[test]
fn what_is_lost_or_doubled_does_not_verify() {
    let folder = folder("batch-verify");
    write_items(&folder, 1_000_000_000);
    run(&folder, "out", &[]);
    fs::copy(folder.join("out/0.parquet"), folder.join("out/1.parquet")).expect("they exist");
    let output = selkie(&folder, &["batch", "verify", "out", "--items", "."]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stdout.contains("40 items more than once"), "{output:#?}");
    fs::remove_file(folder.join("out/1.parquet")).expect("it exists");
    let output = selkie(&folder, &["batch", "verify", "out", "--items", "."]);
    assert!(output.stdout.contains("80 results for 120 items"), "{output:#?}");
}

#[test]
fn absurd_compute_units_in_results_are_summed_without_overflow() {
    let folder = folder("batch-absurd");
    write_items(&folder, 1_000_000_000);
    run(&folder, "out", &[]);
    for file in 0..FILES {
        let path = folder.join(format!("out/{file}.parquet"));
        let results = read(&path);
        let (index, _) = results.schema_ref().column_with_name("compute_units").expect("it exists");
        let mut columns = results.columns().to_vec();
        let units = arrow_array::Int64Array::from(vec![-1; results.num_rows()]);
        columns[index] = std::sync::Arc::new(units);
        write(&path, &RecordBatch::try_new(results.schema(), columns).expect("the columns fit"));
    }
    let same = selkie(&folder, &["--json", "batch", "diff", "out", "out"]);
    assert_eq!(same.json()["compute_units_after"], u64::MAX, "{same:#?}");
}

#[test]
fn results_of_other_items_do_not_verify() {
    let (mine, other) = (folder("batch-mine"), folder("batch-other"));
    write_items(&mine, 1_000_000_000);
    write_items(&other, 2_000_000_000);
    run(&mine, "out", &[]);
    let items = other.to_str().expect("the path is text");
    let output = selkie(&mine, &["batch", "verify", "out", "--items", items]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stdout.contains("the results are those of other items"), "{output:#?}");
}

#[test]
fn unusable_items_do_not_verify_unless_allowed() {
    let folder = folder("batch-unusable");
    write_items(&folder, 1_000_000_000);
    fs::remove_file(folder.join("contents/environments.parquet")).expect("it exists");
    run(&folder, "out", &[]);
    let output = selkie(&folder, &["batch", "verify", "out", "--items", "."]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stdout.contains("120 items malformed"), "{output:#?}");
    let allowed = selkie(&folder, &["batch", "verify", "out", "--items", ".", "--allow-unusable"]);
    assert_eq!(allowed.code, Some(0), "{allowed:#?}");
}

#[test]
fn a_difference_is_shown_by_item() {
    let folder = folder("batch-diff");
    write_items(&folder, 1_000_000_000);
    run(&folder, "out", &[]);
    let same = selkie(&folder, &["--json", "batch", "diff", "out", "out"]);
    assert_eq!((same.code, &same.json()["same"]), (Some(0), &120.into()));
    // Lost results stand on one side only.
    fs::create_dir(folder.join("less")).expect("the folder is writable");
    fs::copy(folder.join("out/0.parquet"), folder.join("less/0.parquet")).expect("it exists");
    let less = selkie(&folder, &["batch", "diff", "out", "less", "--markdown"]);
    assert_eq!(less.code, Some(1));
    assert!(less.stdout.contains("| only before | 80 |"), "{less:#?}");
}

/// Replaces a column of a file.
fn replace(path: &Path, name: &str, column: arrow_array::ArrayRef) {
    let results = read(path);
    let (index, _) = results.schema_ref().column_with_name(name).expect("it exists");
    let mut columns = results.columns().to_vec();
    columns[index] = column;
    write(path, &RecordBatch::try_new(results.schema(), columns).expect("the columns fit"));
}

#[test]
fn results_units_and_accounts_are_compared_independently() {
    let [mine, other] = [folder("batch-diff-mine"), folder("batch-diff-other")];
    write_items(&mine, 1_000_000_000);
    write_items(&other, 2_000_000_000);
    for it in [&mine, &other] {
        run(it, "out", &[]);
    }
    // The same items, of which the payer is richer in the other run.
    for file in 0..FILES {
        let path = |it: &Path| it.join(format!("out/{file}.parquet"));
        let ids = read(&path(&mine)).column(0).clone();
        replace(&path(&other), "item_id", ids);
    }
    let units = arrow_array::Int64Array::from(vec![7; 40]);
    replace(&other.join("out/0.parquet"), "compute_units", std::sync::Arc::new(units));
    let after = other.join("out");
    let after = after.to_str().expect("the path is text");
    let diff = selkie(&mine, &["--json", "batch", "diff", "out", after]).json();
    let counts = ["same", "results", "compute_units", "accounts", "changed"];
    assert_eq!(counts.map(|it| diff[it].as_u64()), [0, 0, 40, 120, 120].map(Some), "{diff}");
    let payer = keypair("payer").pubkey().to_string();
    let account = &diff["changed_accounts"][0];
    assert_eq!(
        (account["account"].as_str(), account["items"].as_u64()),
        (Some(&*payer), Some(120))
    );
    assert_eq!(diff["shown"][0]["accounts"][0], payer);
    let table = selkie(&mine, &["batch", "diff", "out", after, "--markdown"]).stdout;
    assert!(table.contains(&format!("| `{payer}` | 120 |")), "{table}");
    let text = selkie(&mine, &["batch", "diff", "out", after]).stdout;
    assert!(text.contains(&format!("{payer} differs in 120 items")), "{text}");
}

#[test]
fn damaged_files_are_errors_that_name_the_file() {
    let folder = folder("batch-damaged");
    write_items(&folder, 1_000_000_000);
    let path = folder.join("items/1.parquet");
    let whole = fs::read(&path).expect("it exists");
    for length in [0, 4, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).expect("the folder is writable");
        let output = run(&folder, "out", &[]);
        assert_eq!(output.code, Some(2), "cut at {length}: {output:#?}");
        let error = output.json()["error"].as_str().expect("there is an error").to_owned();
        assert!(error.contains("items/1.parquet"), "{error}");
    }
    for index in (0..whole.len()).step_by(211) {
        let mut damaged = whole.clone();
        damaged[index] ^= 0x55;
        fs::write(&path, &damaged).expect("the folder is writable");
        let _ = fs::remove_dir_all(folder.join("out"));
        let output = run(&folder, "out", &[]);
        assert!(output.code.is_some(), "byte {index}: {output:#?}");
        assert!(!output.stderr.contains("panicked"), "byte {index}: {output:#?}");
    }
}

#[test]
fn an_error_of_contents_names_the_row_of_the_file() {
    let folder = folder("batch-contents");
    write_items(&folder, 1_000_000_000);
    let data: Vec<_> = (0..100_u8).map(|byte| vec![byte]).collect();
    let mut hashes: Vec<_> = data.iter().map(|it| Base::new().add(it.clone())).collect();
    hashes[97] = [1; 32];
    let hashes = arrow_array::BinaryArray::from_iter_values(hashes);
    let data = arrow_array::BinaryArray::from_iter_values(data);
    let columns = vec![std::sync::Arc::new(hashes) as _, std::sync::Arc::new(data) as _];
    let contents = RecordBatch::try_new(schema::contents(), columns).expect("the columns fit");
    write(&folder.join("contents/more.parquet"), &contents);
    let error = run(&folder, "out", &[]).json()["error"].to_string();
    assert!(error.contains("contents/more.parquet: row 97 of the contents"), "{error}");
}

#[test]
fn other_columns_are_an_error_that_names_them() {
    let folder = folder("batch-columns");
    write_items(&folder, 1_000_000_000);
    fs::copy(folder.join("contents/environments.parquet"), folder.join("items/1.parquet"))
        .expect("they exist");
    let output = run(&folder, "out", &[]);
    assert_eq!(output.code, Some(2));
    let error = output.json()["error"].as_str().expect("there is an error").to_owned();
    assert!(error.contains("items/1.parquet: the table has no column `item_id`"), "{error}");
}

#[test]
fn recorded_transactions_become_items_with_their_results() {
    let folder = folder("batch-import");
    let (payer, other) = (keypair("payer"), keypair("other"));
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).expect("the balance fits");
    let sign = |lamports| {
        let transfer = system::transfer(&payer.pubkey(), &other.pubkey(), lamports);
        svm.sign(&[transfer], &[&payer]).expect("the payer signs")
    };
    let recorded = folder.join("recorded/deeper");
    fs::create_dir_all(&recorded).expect("the folder is writable");
    // One succeeds and one fails; each is recorded in both forms.
    for (name, transaction) in [("good", sign(1_000_000)), ("bad", sign(u64::MAX))] {
        let fix = transaction_fixture(&svm.case(&transaction)).expect("it can be recorded");
        fs::write(recorded.join(format!("{name}.fix")), fix.to_firedancer())
            .expect("it is writable");
        let replay = ReplayFile::from(svm.record(name, &transaction)).to_string();
        fs::write(recorded.join(format!("{name}.replay")), replay).expect("it is writable");
    }
    fs::write(recorded.join("broken.fix"), "no fixture").expect("it is writable");
    fs::write(recorded.join("notes.txt"), "not taken").expect("it is writable");
    let import = selkie(&folder, &["--json", "batch", "import", "recorded", "--out", "."]);
    assert_eq!(import.code, Some(0), "{import:#?}");
    let report = import.json();
    let total = ["items", "doubled", "differing"].map(|it| report[it].as_u64().unwrap_or(99));
    assert_eq!(total[0] + total[1], 4, "{report}");
    assert_eq!(total[2], 0, "{report}");
    assert_eq!(report["skipped"][0]["count"], 1);
    let ran = run(&folder, "out", &[]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(ran.json()["unexpected"], 0);
    assert_eq!(ran.json()["items"].as_u64(), Some(total[0]));
    // What was recorded otherwise is not as expected.
    let mut lie = fs::read_to_string(recorded.join("good.replay")).expect("it exists");
    lie = lie.replace("\"cu\":150", "\"cu\":151");
    fs::create_dir(folder.join("lies")).expect("the folder is writable");
    fs::write(folder.join("lies/lie.replay"), lie).expect("it is writable");
    let import = selkie(&folder, &["--json", "batch", "import", "lies", "--out", "wrong"]);
    assert_eq!(import.json()["differing"], 1, "{import:#?}");
    let ran = selkie(&folder, &["--json", "batch", "run", "wrong", "--out", "wrong/out"]);
    assert_eq!((ran.code, &ran.json()["unexpected"]), (Some(1), &1.into()));
    let again = selkie(&folder, &["batch", "import", "lies", "--out", "wrong"]);
    assert!(again.stderr.contains("is not empty"), "{again:#?}");
    let unknown = selkie(&folder, &["batch", "import", "recorded/deeper/notes.txt", "--out", "o"]);
    assert!(unknown.stderr.contains(".fix, .replay, .json"), "{unknown:#?}");
}

#[test]
fn answers_of_rpc_servers_become_items_with_their_results() {
    let folder = folder("batch-import-rpc");
    let (payer, other) = (keypair("payer"), keypair("other"));
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).expect("the balance fits");
    let base64 = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
    let sent = |lamports: u64, units: u64| {
        let transfer = system::transfer(&payer.pubkey(), &other.pubkey(), lamports);
        let signed = svm.sign(&[transfer], &[&payer]).expect("the payer signs");
        let receipt = svm.simulate(&signed).unwrap_or_else(|failed| failed.receipt);
        let wire = wincode::serialize(&signed).expect("it can be serialized");
        let err = receipt.result.as_ref().err();
        serde_json::json!({
            "slot": 5, "transaction": [base64(&wire), "base64"],
            "meta": { "err": err, "computeUnitsConsumed": units, "fee": 5000 },
        })
    };
    let account = serde_json::json!({
        "pubkey": payer.pubkey().to_string(),
        "account": {
            "lamports": 1_000_000_000, "owner": "11111111111111111111111111111111",
            "data": ["", "base64"], "executable": false, "rentEpoch": 0,
        },
    });
    let block = serde_json::json!({ "blockTime": 1, "transactions": [sent(u64::MAX, 150)] });
    let parsed = serde_json::json!({ "transaction": { "message": {} }, "meta": {} });
    let file = serde_json::json!({
        "transactions": [sent(1_000_000, 150), block, sent(2_000_000, 151), parsed],
        "accounts": [account],
    });
    fs::write(folder.join("rpc.json"), file.to_string()).expect("it is writable");
    let import = selkie(&folder, &["--json", "batch", "import", "rpc.json", "--out", "."]);
    let report = import.json();
    assert_eq!((&report["items"], &report["skipped"][0]["count"]), (&3.into(), &1.into()));
    // One of them states other compute units than it used.
    let ran = run(&folder, "out", &[]).json();
    assert_eq!((&ran["statuses"]["Success"], &ran["statuses"]["Failed"]), (&2.into(), &1.into()));
    assert_eq!(ran["unexpected"], 1, "{ran}");
    fs::write(folder.join("bad.json"), r#"{"accounts": [{"pubkey": "x"}]}"#).expect("writable");
    let bad = selkie(&folder, &["batch", "import", "bad.json", "--out", "bad"]);
    assert_eq!(bad.code, Some(2));
    assert!(bad.stderr.contains("bad.json"), "{bad:#?}");
}

/// Writes one file with four items, of which the third takes far more time than the others.
#[cfg(target_os = "linux")]
fn write_heavy_items(folder: &Path, calls: u64) {
    let payer = keypair("payer");
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).expect("the balance fits");
    let mut base = Base::new();
    let environment = record::environment_file(svm.environment(), []).to_bytes();
    let env_ref = base.add(environment.clone());
    let account = (payer.pubkey(), svm.shared_account(&payer.pubkey()).expect("it exists"));
    let idl = serde_json::json!({"address": keypair("p").pubkey().to_string(), "instructions": [
        {"name": "go", "discriminator": [], "accounts": [], "args": []}]});
    // Each seed gives up after 4,096 calls, since there is no such program.
    let search =
        FuzzFile { idl: Some(idl), calls: 4096, seed_count: calls / 4096, ..FuzzFile::default() };
    let search = search.to_bytes();
    let mut items = Items::new();
    for number in 0..4 {
        let transfer =
            system::transfer(&payer.pubkey(), &keypair("bob").pubkey(), 5_000_000 + number);
        let signed = svm.sign(&[transfer], &[&payer]).expect("the payer signs");
        let wire = wincode::serialize(&signed).expect("transactions can be serialized");
        let is_search = number == 2;
        items.push(&Item {
            kind: if is_search { Kind::Fuzz } else { Kind::Transaction },
            env_ref,
            message: if is_search { &search } else { &wire },
            accounts: vec![record::item_account(&account, &mut base)],
            ..Item::default()
        });
    }
    write(&folder.join("items/0.parquet"), &items.finish().expect("the items fit"));
    write_contents(folder, &env_ref, &environment);
}

/// The kernel kills a process that uses more than a second of processor time, which one item does: as
/// a crash of machine code would, that ends the process because of the item, each time.
#[cfg(target_os = "linux")]
#[test]
fn an_item_that_kills_its_process_has_a_row_and_the_others_their_results() {
    let folder = folder("batch-crash");
    write_heavy_items(&folder, 1 << 20);
    let selkie = env!("CARGO_BIN_EXE_selkie");
    let limited = format!("ulimit -c 0; ulimit -t 1; exec {selkie} --json batch run . --out out");
    let output =
        std::process::Command::new("sh").args(["-c", &limited]).current_dir(&folder).output();
    let output = output.expect("there is a shell");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    let report: serde_json::Value = serde_json::from_str(&stdout).expect("it is JSON");
    assert_eq!(report["statuses"], serde_json::json!({"Success": 3, "EngineCrash": 1}));
    let unusable = report["unusable"][0].to_string();
    assert!(unusable.contains("row 2: EngineCrash: the engine died of SIG"), "{unusable}");
    assert!(stderr.contains("./items/0.parquet is run again in parts"), "{stderr}");
    let files = fs::read_dir(folder.join("out")).expect("it exists").count();
    assert_eq!(files, 1, "nothing is left but the results");
    let ids = ["--json", "batch", "verify", "out", "--items", ".", "--allow-unusable"];
    assert_eq!(common::selkie(&folder, &ids).code, Some(0));
}

/// A worker process that is killed once, from outside: no item gets the status `EngineCrash`.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_killed_once_costs_no_results() {
    use std::process::{Command, Stdio};
    let folder = folder("batch-killed");
    write_heavy_items(&folder, 16 * 4096);
    let whole = run(&folder, "whole", &[]);
    // Not SIGSEGV: if no access to memory has caused it, Rust ignores the first one.
    for signal in ["ABRT", "KILL"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
        let command = command.args(["--json", "batch", "run", ".", "--restart", "--out", "out"]);
        let command = command.current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = command.spawn().expect("it is built");
        let worker = worker_of(running.id(), &folder.join("out/0.parquet.part"));
        let kill = Command::new("kill").args([&format!("-{signal}"), &worker]).status();
        assert!(kill.expect("there is such a command").success());
        let output = running.wait_with_output().expect("it ends");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let warning = format!("the engine died of SIG{signal}; ./items/0.parquet is run again");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(&warning), "{stderr}");
        assert_eq!(report["digest"], whole.json()["digest"]);
        assert_eq!(report["statuses"], whole.json()["statuses"]);
    }
}

/// The worker process exits when its parent is killed.
#[cfg(target_os = "linux")]
#[test]
fn no_process_outlives_the_one_that_started_it() {
    use std::process::Command;
    let folder = folder("batch-abandoned");
    write_heavy_items(&folder, 1 << 20);
    let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
    let mut running = command
        .args(["batch", "run", ".", "--out", "out"])
        .current_dir(&folder)
        .spawn()
        .expect("it is built");
    let worker = worker_of(running.id(), &folder.join("out/0.parquet.part"));
    running.kill().expect("it runs");
    running.wait().expect("it was killed");
    let process = Path::new("/proc").join(worker);
    for _ in 0..600 {
        // It may remain as a zombie until its new parent waits for it.
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        if status.is_empty() || status.contains("State:\tZ") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{} is still there", process.display());
}

/// Waits until a file is there, and returns the process that another one has started.
#[cfg(target_os = "linux")]
fn worker_of(starter: u32, file: &Path) -> String {
    for _ in 0..600 {
        let children = fs::read_to_string(format!("/proc/{starter}/task/{starter}/children"));
        let children = children.unwrap_or_default();
        if let (Some(child), true) = (children.split_whitespace().next(), file.exists()) {
            return child.to_owned();
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{} is never there", file.display());
}

/// Blocks of a node, each on the one before: airdrops, transfers, and tokens.
#[test]
fn a_dump_of_a_node_becomes_items_with_their_results() {
    let folder = folder("batch-dump");
    let node = Node::start(selkie_node::Options::default()).expect("it starts");
    let (alice, bob) = (keypair("alice"), keypair("bob").pubkey());
    node.airdrop_and_wait(&alice.pubkey(), 10_000_000_000).expect("the faucet has it");
    let (program, mint) = (programs::TOKEN.id, keypair("mint"));
    let key = alice.pubkey();
    let account = token::associated_address(&program, &key, &mint.pubkey());
    let mut sent = 1;
    let mut send = |instructions: &[selkie::Instruction], signers: &[&dyn Signer]| {
        let options = selkie_node::SendOptions { skip_preflight: true, ..Default::default() };
        let blockhash = node.view(options.preflight_commitment).blockhash();
        let message = selkie::Message::new_with_blockhash(instructions, Some(&key), &blockhash);
        let transaction = selkie::Transaction::new(&signers.to_vec(), message, blockhash);
        // One that fails lands, too.
        let _ = node.send_and_wait(transaction.into(), &options);
        sent += 1;
    };
    send(&[system::transfer(&key, &bob, 5_000_000)], &[&alice]);
    send(&[system::transfer(&key, &bob, u64::MAX)], &[&alice]);
    let space = 82;
    let create = system::create_account(&key, &mint.pubkey(), 10_000_000, space, &program);
    send(&[create, token::initialize_mint(&program, &mint.pubkey(), &key, 6)], &[&alice, &mint]);
    send(&[token::create_associated(&program, &key, &key, &mint.pubkey())], &[&alice]);
    for amount in [5, 7] {
        send(&[token::mint_to(&program, &mint.pubkey(), &account, &key, amount)], &[&alice]);
    }
    let mut dump = Vec::new();
    node.dump(&mut dump).expect("it is written to memory");
    fs::write(folder.join("node.dump"), dump).expect("the folder is writable");
    let imported = selkie(&folder, &["--json", "batch", "import", "node.dump", "--out", "."]);
    assert_eq!(imported.json()["items"], sent, "{imported:#?}");
    let results = run(&folder, "out", &[]);
    assert_eq!(results.code, Some(0), "{results:#?}");
    assert_eq!(results.json()["statuses"], serde_json::json!({"Success": sent - 1, "Failed": 1}));
}
