//! The steps from files to a program.

use std::collections::BTreeMap;

use selkie_elf::write::{self, Image, SymbolKind, TEXT_OFFSET_MIN};
use selkie_isa::layout::{HEAP_START, SLOT_BYTES, STACK_FRAME_BYTES};

use crate::{
    Input, LinkError, Options, Statics, debug,
    error::Errors,
    input,
    layout::{self, Layout},
    legal::{Legal, identity, legalise},
    object::{Binding, Home, Object, SectionKind},
    program::{AtomId, Body, HEAP_START as HEAP_START_NAME, Place, Program},
    report::{Datum, Function, Linked},
    support,
    trace::{Live, trace},
};

/// The longest name of a section that the loader until V2 puts up with: 16 bytes with the NUL
/// behind it (anza sbpf: `elf_parser`).
const LOADER_NAME_BYTES_MAX: usize = 15;

/// Links objects and archives to a program.
///
/// # Errors
/// Everything that was found wrong, as far as one error does not hide another.
pub fn link(inputs: &[Input<'_>], options: &Options) -> Result<Linked, Vec<LinkError>> {
    let mut errors = Errors::default();
    let objects = read(inputs, options, &mut errors)?;
    let mut program = Program::new(objects, &mut errors);
    let linked = link_program(&mut program, options, errors);
    linked.map_err(|mut errors| {
        let line = |object: usize, section, offset| {
            debug::line_of(&program.objects[object], section, offset)
        };
        errors.iter_mut().for_each(|error| error.find_line(line));
        errors
    })
}

/// Reads what is linked, all for one version.
fn read<'a>(
    inputs: &[Input<'a>],
    options: &'a Options,
    errors: &mut Errors,
) -> Result<Vec<Object<'a>>, Vec<LinkError>> {
    if options.version.dynamic_frames() {
        let message = format!("cannot link for {}: frames are fixed", options.version);
        return Err(vec![LinkError::new(message).help("link for v0 or v3")]);
    }
    let provided = |name: &str| support::provides(name) || name == HEAP_START_NAME;
    let objects = input::read(inputs, &options.entry, provided, errors);
    for object in &objects {
        let Some(version) = object.version.filter(|it| *it != options.version) else { continue };
        let message =
            format!("assembled for {version}, but the program is for {}", options.version);
        let help =
            format!("assemble it with --arch {}, or link with --arch {version}", options.version);
        errors.push(LinkError::new(message).object(&object.name).help(help));
    }
    Ok(objects)
}

fn link_program(
    program: &mut Program<'_>,
    options: &Options,
    mut errors: Errors,
) -> Result<Linked, Vec<LinkError>> {
    errors.check()?;
    let entry = program.entry(&options.entry).map_err(|it| vec![it])?;
    let live = trace(program, entry, &mut errors);
    errors.check()?;
    check_statics(program, &live, options, &mut errors);
    let legal = legalise_all(program, &live, options, &mut errors);
    errors.check()?;
    let layout = Layout::new(program, &live, legal, options.version, &mut errors);
    let (text, syscalls) = layout::text(program, &layout, &mut errors);
    let rodata = layout::rodata(program, &live, &layout, &mut errors);
    errors.check()?;

    let symbols = symbols(program, &layout);
    let strip = options.strip && !exceeds(&layout);
    let debug = if strip { Vec::new() } else { debug::sections(program, &layout) };
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
    check_stack(program, &layout, &elf, &mut errors);
    errors.check()?;
    let mut debug_elf = None;
    let is_too_long = |&(name, _): &(&str, Vec<u8>)| name.len() > LOADER_NAME_BYTES_MAX;
    if !options.version.strict_elf() && debug.iter().any(is_too_long) {
        let loadable = write::write(&Image { debug: &[], ..whole });
        debug_elf = Some(core::mem::replace(&mut elf, loadable));
    }
    Ok(Linked { debug_elf, ..report(program, &live, &layout, elf) })
}

fn legalise_all(
    program: &Program<'_>,
    live: &Live,
    options: &Options,
    errors: &mut Errors,
) -> BTreeMap<AtomId, Legal> {
    let mut legal = BTreeMap::new();
    for (&atom, items) in &live.functions {
        if program.version(atom).is_some() {
            legal.insert(atom, identity(items));
            continue;
        }
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

/// More than the names of any program have.
const NAME_BYTES_MAX: usize = 64 << 20;

/// Names for tools: of functions, and of data.
fn symbols<'a>(program: &Program<'a>, layout: &Layout) -> Vec<write::Symbol<'a>> {
    let mut symbols = Vec::new();
    let mut name_bytes = 0;
    for (index, object) in program.objects.iter().enumerate() {
        for symbol in object.symbols.iter().filter(|it| !it.name.is_empty() && !it.is_section) {
            let Home::Section(section) = symbol.home else { continue };
            if let Some(place) = program.place(index, section, symbol.value.cast_signed()) {
                let (kind, offset, size) = match program.atoms[place.atom.0].kind {
                    SectionKind::Code if !symbol.is_function && place.offset != 0 => continue,
                    SectionKind::Code => {
                        let Some(slot) = layout.slot(place) else { continue };
                        let end = place.offset.wrapping_add_unsigned(symbol.size);
                        let end = layout.slot(Place { offset: end, ..place }).unwrap_or(slot);
                        let bytes = |slots: u32| u64::from(slots) * SLOT_BYTES as u64;
                        (SymbolKind::Function, bytes(slot), bytes(end.saturating_sub(slot)))
                    }
                    kind => {
                        let Some(&address) = layout.data.get(&place.atom) else { continue };
                        let address = address.wrapping_add_signed(place.offset);
                        let (kind, offset) = datum(layout, kind, address);
                        (kind, offset, symbol.size)
                    }
                };
                let global = symbol.binding != Binding::Local;
                // Many symbols can share a long name in an object, but not in the program.
                name_bytes += symbol.name.len();
                if name_bytes > NAME_BYTES_MAX {
                    continue;
                }
                symbols.push(write::Symbol { name: symbol.name, kind, offset, size, global });
            }
        }
    }
    for (index, atom) in program.atoms.iter().enumerate() {
        let name = atom.name;
        match atom.body {
            Body::Part { .. } => {}
            Body::Common { size, .. } => {
                if let Some(&address) = layout.data.get(&AtomId(index)) {
                    let (kind, offset) = datum(layout, atom.kind, address);
                    symbols.push(write::Symbol { name, kind, offset, size, global: true });
                }
            }
            Body::Support(_) => {
                if let Some(placed) = layout.functions.get(&AtomId(index)) {
                    let [offset, size] =
                        [placed.start, placed.slots].map(|it| u64::from(it) * SLOT_BYTES as u64);
                    let kind = SymbolKind::Function;
                    symbols.push(write::Symbol { name, kind, offset, size, global: false });
                }
            }
        }
    }
    symbols
}

/// How the file names data at an address.
fn datum(layout: &Layout, kind: SectionKind, address: u64) -> (SymbolKind, u64) {
    match kind {
        SectionKind::ReadOnly => {
            (SymbolKind::Object, address.saturating_sub(layout.addresses.rodata))
        }
        _ => (SymbolKind::Absolute, address),
    }
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
