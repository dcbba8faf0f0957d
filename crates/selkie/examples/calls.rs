//! CPIs, a builtin program and an inspector: `cargo run -p selkie --example calls`.

#![allow(clippy::print_stdout, reason = "it shows what happens")]

use selkie::{
    AccountMeta, Check, Inspector, Instruction, InstructionError, InvokeContext, Signer, Svm,
    address, keypair, system,
};

/// Prints each instruction before and after it runs.
struct Printer;

impl Inspector for Printer {
    fn before(&mut self, context: &InvokeContext<'_>) {
        let indent = context.stack_height() * 2;
        println!("{:indent$}{} begins", "", context.instruction().program_id);
    }

    fn after(&mut self, context: &InvokeContext<'_>, result: &Result<(), InstructionError>) {
        let (indent, left) = (context.stack_height() * 2, context.units_left());
        println!("{:indent$}... {result:?}, {left} compute units left", "");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (alice, bob, splitter) = (keypair("alice"), address("bob"), address("splitter"));
    let mut svm = Svm::new();
    svm.airdrop(&alice.pubkey(), 1_000_000_000)?;

    // Pays twice the amount in its data, by CPIs to the system program.
    svm.add_builtin(splitter, "splitter", |context| {
        context.consume(100)?;
        let (from, to) = (context.key(0)?, context.key(1)?);
        let lamports = context.instruction().data.first_chunk().copied();
        let lamports =
            u64::from_le_bytes(lamports.ok_or(InstructionError::InvalidInstructionData)?);
        context.native_invoke(&system::transfer(&from, &to, lamports), &[])?;
        context.native_invoke(&system::transfer(&from, &to, lamports), &[])
    });

    let instruction = Instruction {
        program_id: splitter,
        accounts: vec![
            AccountMeta::new(alice.pubkey(), true),
            AccountMeta::new(bob, false),
            AccountMeta::new_readonly(system::ID, false),
        ],
        data: 1_000_000_u64.to_le_bytes().to_vec(),
    };
    let transaction = svm.sign(&[instruction], &[&alice])?;
    let receipt = svm.send_inspected(transaction, &mut Printer)?;
    receipt.assert(
        Check::success()
            .compute_units(400)
            .inner_instructions(&[(2, system::ID), (2, system::ID)])
            .account(&bob)
            .lamports(2_000_000),
    );
    println!("{}", receipt.call_tree());
    Ok(())
}
