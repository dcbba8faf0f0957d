//! Programs that wait for a debugger on a port: the test runs itself again, with the variables set, and talks to it.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{self, Child, ChildStderr, Command, Stdio},
};

use selkie::{Instruction, Signer as _, Svm, address, keypair};

/// Runs programs that end, fail and trap, in a transaction each.
#[test]
fn what_is_debugged() {
    let payer = keypair("payer");
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    for (name, code) in [
        ("good", "mov64 r6, 7\n  mov64 r0, 0\n  exit"),
        ("bad", "mov64 r0, 3\n  exit"),
        ("trap", "mov64 r1, 0\n  ldxdw r0, [r1+0]\n  exit"),
    ] {
        let source = format!(".globl entrypoint\nentrypoint:\n  {code}\n");
        let output = selkie_asm::assemble(&source, &selkie_asm::Options::default());
        svm.add_program(address(name), output.assembly.unwrap().to_elf()).unwrap();
        let instruction = Instruction::new_with_bytes(address(name), &[], Vec::new());
        let sent = svm.send_instructions(&[instruction], &[&payer]);
        assert_eq!(sent.is_ok(), name == "good", "{name}");
    }
}

/// The process with the programs, which ends with the test.
struct Programs {
    child: Child,
    lines: BufReader<ChildStderr>,
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Programs {
    fn start(variables: &[(&str, &str)]) -> Self {
        let mut again = Command::new(env::current_exe().unwrap());
        again.args(["--exact", "what_is_debugged", "--nocapture"]);
        again.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = again.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        Self { child, lines }
    }

    /// Connects to the next program that waits.
    fn connect(&mut self) -> Debugger {
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "no program waits");
            if let Some(rest) = line.strip_prefix("Waiting for a Debugger connection on \"") {
                return Debugger(TcpStream::connect(rest.split_once('"').unwrap().0).unwrap());
            }
        }
    }

    fn end(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

struct Debugger(TcpStream);

impl Debugger {
    fn send(&mut self, text: &str) {
        let sum = text.bytes().fold(0_u8, u8::wrapping_add);
        self.0.write_all(format!("${text}#{sum:02x}").as_bytes()).unwrap();
    }

    fn byte(&mut self) -> u8 {
        let mut byte = [0];
        self.0.read_exact(&mut byte).unwrap();
        byte[0]
    }

    fn read(&mut self) -> String {
        while self.byte() != b'$' {}
        let mut text = Vec::new();
        loop {
            match self.byte() {
                b'#' => break,
                byte => text.push(byte),
            }
        }
        let digits = [self.byte(), self.byte()];
        let sum = text.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        assert_eq!(digits, *format!("{sum:02x}").as_bytes());
        self.0.write_all(b"+").unwrap();
        String::from_utf8(text).unwrap()
    }

    fn ask(&mut self, text: &str) -> String {
        self.send(text);
        self.read()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn word(value: u64) -> String {
    hex(&value.to_le_bytes())
}

#[test]
fn every_program_is_stopped_stepped_and_seen_to_end() {
    let folder = env::temp_dir().join(format!("selkie-debug-port-{}", process::id()));
    let variables = [("SBF_DEBUG_PORT", "0"), ("SBF_TRACE_DIR", folder.to_str().unwrap())];
    let mut programs = Programs::start(&variables);
    let mut good = programs.connect();
    let map = fs::read_to_string(folder.join("program_ids.map")).unwrap();
    assert!(map.starts_with(&format!("{}=", address("good"))), "{map}");
    assert!(good.ask("qSupported:xmlRegisters=i386").contains("qXfer:features:read+"));
    assert_eq!(good.ask("?"), "S05");
    let description = good.ask("qXfer:features:read:target.xml:0,fff");
    assert!(description.starts_with("l<?xml") && description.contains("<architecture>sbpf"));
    assert_eq!(good.ask("qXfer:features:read:target.xml:0,5"), "m<?xml");
    assert!(good.ask("qRegisterInfob").starts_with("name:pc;bitsize:64;offset:88;"));
    let metadata = format!("program_id={};cpi_level=0;caller=none\n", address("good"));
    assert_eq!(good.ask("qRcmd,6d65746164617461"), format!("O{}", hex(metadata.as_bytes())));
    assert_eq!(good.read(), "OK");
    // The input: no accounts, no data.
    assert_eq!(good.ask("p1"), word(0x4_0000_0000));
    assert_eq!(good.ask("m400000000,8"), word(0));
    assert_eq!(good.ask("m900000000,8"), "E01");
    assert_eq!(good.ask("M400000000,1:00"), "");
    let start = good.ask("pb");
    let pc = u64::from_le_bytes(core::array::from_fn(|at| {
        u8::from_str_radix(&start[2 * at..2 * at + 2], 16).unwrap()
    }));
    // The first instruction is `mov64 r6, 7`, wherever it is.
    assert_eq!(good.ask(&format!("m{pc:x},8")), "b706000007000000");
    assert_eq!(good.ask("vCont;s:1"), "S05");
    assert_eq!((good.ask("pb"), good.ask("p6")), (word(pc + 8), word(7)));
    assert_eq!(good.ask("P6=0900000000000000"), "OK");
    assert_eq!(good.ask(&format!("Z0,{:x},8", pc + 16)), "OK");
    assert_eq!(good.ask("c"), "S05");
    assert_eq!((good.ask("pb"), good.ask("p6"), good.ask("p0")), (word(pc + 16), word(9), word(0)));
    assert_eq!(good.ask("g").len(), 12 * 16);
    assert_eq!(good.ask("c"), "W00");
    assert_eq!(programs.connect().ask("c"), "W03");
    assert_eq!(programs.connect().ask("vCont;c"), "X11");
    programs.end();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_runs_to_its_end_when_the_debugger_is_gone_and_the_filter_chooses() {
    let filter = format!("program_id != {}", address("bad"));
    let mut programs =
        Programs::start(&[("VM_DEBUG_PORT", "0"), ("SBF_TRACE_FILTER", filter.as_str())]);
    let mut good = programs.connect();
    assert_eq!(good.ask("QStartNoAckMode"), "OK");
    assert_eq!(good.ask("D"), "OK");
    // `bad` waits for none.
    drop(programs.connect());
    programs.end();
}
