//! The steps from files to a program.

use std::collections::BTreeMap;

use selkie_elf::write::{self, Image, SymbolKind, TEXT_OFFSET_MIN};
use selkie_isa::layout::{HEAP_START, SLOT_BYTES, STACK_FRAME_BYTES};

use crate::{
    Input, LinkError, Options, Statics, debug,
    error::Errors,
    input,
    layout::{self, Layout},
    legal::{Legal, legalise},
    object::{Home, SectionKind},
    program::{AtomId, Body, HEAP_START as HEAP_START_NAME, Place, Program},
    report::{Datum, Function, Linked},
    support,
    trace::{Live, trace},
};

/// The longest name of a section that the loader until V2 puts up with (anza sbpf: `elf_parser`).
const LOADER_NAME_BYTES_MAX: usize = 16;

/// Links objects and archives to a program.
///
/// # Errors
/// Everything that was found wrong, as far as one error does not hide another.
pub fn link(inputs: &[Input<'_>], options: &Options) -> Result<Linked, Vec<LinkError>> {
    let mut errors = Errors::default();
    if options.version.dynamic_frames() {
        let message = format!("cannot link for {}: frames are fixed", options.version);
        return Err(vec![LinkError::new(message).help("link for v0 or v3")]);
    }
    let provided = |name: &str| support::provides(name) || name == HEAP_START_NAME;
    let objects = input::read(inputs, &options.entry, provided, &mut errors);
    let mut program = Program::new(objects, &mut errors);
    errors.check()?;
    let entry = program.entry(&options.entry).map_err(|it| vec![it])?;
    let live = trace(&mut program, entry, &mut errors);
    errors.check()?;
    check_statics(&mut program, &live, options, &mut errors);
    let legal = legalise_all(&program, &live, options, &mut errors);
    errors.check()?;
    let layout = Layout::new(&program, &live, legal, options.version, &mut errors);
    let (text, syscalls) = layout::text(&program, &layout, &mut errors);
    let rodata = layout::rodata(&program, &live, &layout, &mut errors);
    errors.check()?;

    let symbols = symbols(&program, &live, &layout);
    let strip = options.strip && !exceeds(&layout);
    let debug = if strip { Vec::new() } else { debug::sections(&program, &layout) };
    let whole = Image {
        version: options.version,
        text: &text,
        text_offset: TEXT_OFFSET_MIN,
        rodata: &rodata,
        entry_pc: layout.functions.get(&entry).map_or(0, |it| it.start),
        syscalls: &syscalls,
        symbols: &symbols,
        debug: &debug,
        strip,
    };
    let mut elf = write::write(&whole);
    check_stack(&program, &layout, &elf, &mut errors);
    errors.check()?;
    let mut debug_elf = None;
    let is_too_long = |&(name, _): &(&str, Vec<u8>)| name.len() > LOADER_NAME_BYTES_MAX;
    if !options.version.strict_elf() && debug.iter().any(is_too_long) {
        let loadable = write::write(&Image { debug: &[], ..whole });
        debug_elf = Some(core::mem::replace(&mut elf, loadable));
    }
    Ok(Linked { debug_elf, ..report(&program, &live, &layout, elf) })
}

fn legalise_all(
    program: &Program<'_>,
    live: &Live,
    options: &Options,
    errors: &mut Errors,
) -> BTreeMap<AtomId, Legal> {
    let mut legal = BTreeMap::new();
    for (&atom, items) in &live.functions {
        match legalise(items, options.version) {
            Ok(it) => _ = legal.insert(atom, it),
            Err((slot, why)) => {
                let start = match program.atoms[atom.0].body {
                    Body::Part { start, .. } => start,
                    _ => 0,
                };
                let error = LinkError::new(why).offset(start + u64::from(slot) * 8);
                errors.push(program.blame(atom, error).symbol(program.atoms[atom.0].name));
            }
        }
    }
    legal
}

/// Variables that the program may write begin as zeros, or not at all.
fn check_statics(program: &mut Program<'_>, live: &Live, options: &Options, errors: &mut Errors) {
    for (&atom, pointers) in &live.data {
        let kind = program.atoms[atom.0].kind;
        if kind == SectionKind::ReadOnly {
            continue;
        }
        let data = match program.atoms[atom.0].body {
            Body::Part { object, section, .. } => program.objects[object].sections[section].data,
            _ => &[],
        };
        let nonzero = data.iter().position(|&byte| byte != 0);
        let pointer = pointers.first().and_then(|it| usize::try_from(it.offset).ok());
        let first = [nonzero, pointer].into_iter().flatten().min();
        let (message, help, offset) = match first {
            Some(offset) => (
                "begins with a value other than zero",
                "make it `const`, or let it begin as zero and set it where the program starts: \
                 programs have no writable data of their own",
                offset as u64,
            ),
            None if options.statics == Statics::Refuse => (
                "would have to lie in the heap",
                "allow statics, or use the stack or an account",
                0,
            ),
            None => continue,
        };
        let name = program.variable(Place { atom, offset: offset.cast_signed() });
        let mut message =
            format!("the writable variable `{}` {message}", selkie_inspect::demangle(name));
        if let Some(&(user, place)) = live.users.get(&atom) {
            let user = selkie_inspect::demangle(program.atoms[user.0].name);
            // Without -fdata-sections the variables of a file live and die together.
            message += &match program.variable(place) {
                used if used == name => format!("; `{user}` uses it"),
                used => format!("; `{user}` uses `{used}` of the same section"),
            };
        }
        errors.push(program.blame(atom, LinkError::new(message).help(help)));
    }
}

fn exceeds(layout: &Layout) -> bool {
    layout.functions.values().any(|it| it.legal.stack > STACK_FRAME_BYTES)
}

/// Frames that are too large, with the line of the instruction that shows it.
fn check_stack(program: &Program<'_>, layout: &Layout, elf: &[u8], errors: &mut Errors) {
    if !exceeds(layout) {
        return;
    }
    let source = selkie_inspect::SourceMap::load(elf);
    for (&atom, placed) in &layout.functions {
        let bytes = placed.legal.stack;
        let excess = bytes.saturating_sub(STACK_FRAME_BYTES);
        if excess == 0 {
            continue;
        }
        let message = format!(
            "Stack offset of -{bytes} exceeded max offset of -{STACK_FRAME_BYTES} by {excess} \
             bytes, please minimize large stack variables"
        );
        let mut error = LinkError::new(message).symbol(program.atoms[atom.0].name);
        let pc = placed.legal.deepest.and_then(|slot| placed.slot(slot)).unwrap_or(placed.start);
        error.source = source.line_at(pc).map(|it| it.to_string());
        errors.push(program.blame(atom, error));
    }
}

/// Names for tools: of functions, and of data.
fn symbols<'a>(program: &Program<'a>, live: &Live, layout: &Layout) -> Vec<write::Symbol<'a>> {
    let mut symbols = Vec::new();
    for (&atom, placed) in &layout.functions {
        let start = u64::from(placed.start) * SLOT_BYTES as u64;
        let size = u64::from(placed.slots) * SLOT_BYTES as u64;
        let Body::Part { object, section, start: from, end: to } = program.atoms[atom.0].body
        else {
            let name = program.atoms[atom.0].name;
            let kind = SymbolKind::Function;
            symbols.push(write::Symbol { name, kind, offset: start, size, global: false });
            continue;
        };
        for symbol in &program.objects[object].symbols {
            let is_here = symbol.home == Home::Section(section)
                && (from..to).contains(&symbol.value)
                && !symbol.name.is_empty();
            if !is_here || !(symbol.is_function || symbol.value == from) || symbol.is_section {
                continue;
            }
            let place = |at: u64| Place { atom, offset: (at - from).cast_signed() };
            let Some(slot) = layout.slot(place(symbol.value)) else { continue };
            let end = layout.slot(place(symbol.value + symbol.size)).unwrap_or(slot);
            symbols.push(write::Symbol {
                name: symbol.name,
                kind: SymbolKind::Function,
                offset: u64::from(slot) * SLOT_BYTES as u64,
                size: u64::from(end - slot) * SLOT_BYTES as u64,
                global: symbol.binding != crate::object::Binding::Local,
            });
        }
    }
    for &atom in live.data.keys() {
        let address = layout.data[&atom];
        let writable = program.atoms[atom.0].kind != SectionKind::ReadOnly;
        let kind = if writable { SymbolKind::Absolute } else { SymbolKind::Object };
        let base = if writable { address } else { address - layout.addresses.rodata };
        let Body::Part { object, section, .. } = program.atoms[atom.0].body else {
            let name = program.atoms[atom.0].name;
            let size = layout::size(program, atom);
            symbols.push(write::Symbol { name, kind, offset: base, size, global: true });
            continue;
        };
        for symbol in &program.objects[object].symbols {
            let is_named = !symbol.name.is_empty() && !symbol.is_section;
            if symbol.home == Home::Section(section) && is_named {
                symbols.push(write::Symbol {
                    name: symbol.name,
                    kind,
                    offset: base + symbol.value,
                    size: symbol.size,
                    global: symbol.binding != crate::object::Binding::Local,
                });
            }
        }
    }
    symbols
}

fn report(program: &Program<'_>, live: &Live, layout: &Layout, elf: Vec<u8>) -> Linked {
    let object = |atom: AtomId| match program.atoms[atom.0].body {
        Body::Part { object, .. } | Body::Common { object, .. } => {
            Some(program.objects[object].name.clone())
        }
        Body::Support(_) => None,
    };
    let mut functions: Vec<Function> = layout
        .functions
        .iter()
        .map(|(&atom, placed)| Function {
            name: selkie_inspect::demangle(program.atoms[atom.0].name),
            object: object(atom),
            pc: placed.start,
            addr: layout.addresses.text + u64::from(placed.start) * SLOT_BYTES as u64,
            slots: placed.slots,
            slots_added: placed.slots.saturating_sub(placed.map.last().map_or(0, |it| it.0)),
            stack: placed.legal.stack,
        })
        .collect();
    functions.sort_by_key(|it| it.pc);
    let mut data: Vec<Datum> = live
        .data
        .keys()
        .map(|&atom| Datum {
            name: program.atoms[atom.0].name.to_owned(),
            object: object(atom),
            addr: layout.data[&atom],
            size: layout::size(program, atom),
            is_writable: program.atoms[atom.0].kind != SectionKind::ReadOnly,
        })
        .collect();
    data.sort_by_key(|it| it.addr);
    let has_statics = data.iter().any(|it| it.is_writable);
    Linked {
        elf,
        debug_elf: None,
        version: layout.version,
        functions,
        rodata_bytes: layout.rodata_bytes,
        heap_bytes: if has_statics { layout.heap_start - HEAP_START } else { 0 },
        data,
    }
}
