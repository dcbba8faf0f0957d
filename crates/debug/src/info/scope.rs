//! Scopes: the functions and inlined calls that contain an instruction, and their variables.

use selkie_inspect::Location;

use super::{DebugInfo, EntryId, TypeRef, lines, ranges::Budget};

/// How deep inlined calls and blocks may be nested.
const SCOPES_MAX: usize = 512;

/// The variables of one scope that are listed.
const VARIABLES_MAX: usize = 4096;

/// A function or an inlined call that contains an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// Its entry, which tells inlined calls of the same function apart.
    pub id: EntryId,
    /// The demangled name of the function, with its module.
    pub function: String,
    /// The position of the call, if this is an inlined one.
    pub call: Option<Location>,
    /// Whether this is an inlined call.
    pub is_inlined: bool,
    /// The blocks that contain the instruction, from the outermost one.
    blocks: Vec<EntryId>,
}

/// A variable or parameter of a scope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its entry.
    pub id: EntryId,
    /// Its name in the source.
    pub name: String,
    /// Its type.
    pub ty: TypeRef,
    /// Whether it is a parameter of the function.
    pub is_parameter: bool,
}

impl DebugInfo {
    /// Returns the scopes that contain an instruction, from the innermost inlined call to the function
    /// that was not inlined. Empty without debug information.
    #[must_use]
    pub fn scopes_at(&self, pc: u32) -> Vec<Scope> {
        let address = self.address(pc);
        let mut scopes = Vec::new();
        let mut next = self.functions.at(address);
        let mut budget = Budget::default();
        for _ in 0..SCOPES_MAX {
            let Some(id) = next else { break };
            match (self.tree.node(id).tag, scopes.last_mut()) {
                (gimli::DW_TAG_lexical_block, Some(Scope { blocks, .. })) => blocks.push(id),
                _ => scopes.extend(self.scope(id)),
            }
            next = self.child_at(id, address, &mut budget);
        }
        scopes.reverse();
        scopes
    }

    /// Returns the scope within another one that contains an address.
    fn child_at(&self, id: EntryId, address: u64, budget: &mut Budget) -> Option<EntryId> {
        self.tree.children(id).find(|&child| {
            let tag = self.tree.node(child).tag;
            let is_scope =
                tag == gimli::DW_TAG_inlined_subroutine || tag == gimli::DW_TAG_lexical_block;
            is_scope
                && self.ranges(child, budget).any(|(start, end)| (start..end).contains(&address))
        })
    }

    fn scope(&self, id: EntryId) -> Option<Scope> {
        let entry = self.entry(id)?;
        let is_inlined = entry.tag() == gimli::DW_TAG_inlined_subroutine;
        let call = is_inlined.then(|| {
            let file =
                lines::path(&self.dwarf, entry.unit(), entry.unsigned(gimli::DW_AT_call_file)?)?;
            let number = |name| u32::try_from(entry.unsigned(name)?).ok();
            Some(Location {
                file,
                line: number(gimli::DW_AT_call_line)?,
                column: number(gimli::DW_AT_call_column).filter(|&it| it != 0),
            })
        });
        let function = entry.function_name().unwrap_or_else(|| "?".to_owned());
        Some(Scope { id, function, call: call.flatten(), is_inlined, blocks: Vec::new() })
    }

    /// Returns the variables of a scope, those of inner blocks first: a name stands for its first one.
    #[must_use]
    pub fn variables(&self, scope: &Scope) -> Vec<Variable> {
        let blocks = scope.blocks.iter().rev().chain([&scope.id]);
        let variables = blocks.flat_map(|&block| {
            let entries = self.tree.children(block).filter(|&id| {
                let tag = self.tree.node(id).tag;
                tag == gimli::DW_TAG_variable || tag == gimli::DW_TAG_formal_parameter
            });
            entries.filter_map(|id| self.variable(id))
        });
        variables.take(VARIABLES_MAX).collect()
    }

    fn variable(&self, id: EntryId) -> Option<Variable> {
        let entry = self.entry(id)?;
        let is_parameter = entry.tag() == gimli::DW_TAG_formal_parameter;
        Some(Variable { id, name: entry.name()?, ty: entry.type_id().into(), is_parameter })
    }

    /// Returns the variables outside functions whose name is this one, with or without module.
    #[must_use]
    pub fn statics(&self, name: &str) -> Vec<Variable> {
        let simple = name.rsplit("::").next().unwrap_or(name);
        let is_outside = |&id: &EntryId| {
            let parent = self.tree.parent(id).map(|it| self.tree.node(it).tag);
            !matches!(
                parent,
                Some(
                    gimli::DW_TAG_subprogram
                        | gimli::DW_TAG_inlined_subroutine
                        | gimli::DW_TAG_lexical_block
                )
            )
        };
        let all = self.tree.all(&[gimli::DW_TAG_variable]).filter(is_outside);
        let named = all.filter_map(|id| self.variable(id)).filter(|it| it.name == simple);
        named.filter(|it| simple == name || self.path(it.id).ends_with(name)).collect()
    }

    /// Returns the type of what a function returns; `None` if it returns nothing.
    pub(crate) fn result_type(&self, function: EntryId) -> Option<TypeRef> {
        self.entry(function)?.type_id().map(|it| Some(it).into())
    }

    /// Returns where a function or variable was declared.
    #[must_use]
    pub fn declaration(&self, id: EntryId) -> Option<Location> {
        self.entry(id)?.find(|entry| {
            let file = entry.unsigned(gimli::DW_AT_decl_file)?;
            let line = u32::try_from(entry.unsigned(gimli::DW_AT_decl_line)?).ok()?;
            let file = lines::path(&self.dwarf, entry.unit(), file)?;
            Some(Location { file, line, column: None })
        })
    }
}
