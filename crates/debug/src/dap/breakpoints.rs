//! Requests about breakpoints.

use selkie_isa::failure::Failure;
use serde_json::{Value, json};

use super::{
    arguments::{
        DataBreakpointInfo, Lines, NamedBreakpoint, SetBreakpoints, SetExceptionBreakpoints,
        SetNamedBreakpoints, SourceBreakpoint, read,
    },
    code::{CodeAddress, parse_address},
    server::{Answer, Server},
};
use crate::{
    breakpoint::{Filters, Place, Request},
    history::FrameId,
    session::Stop,
};

/// The breakpoints of one request.
const BREAKPOINTS_MAX: usize = 1000;

impl Server {
    pub(super) fn set_breakpoints(&mut self, arguments: &Value) -> Answer {
        let arguments: SetBreakpoints = read(arguments)?;
        let source = &arguments.source;
        let group = format!("{:?} {:?}", source.path, source.source_reference);
        let request = |server: &Self, it: &SourceBreakpoint| {
            let place = server.place(source, server.to_line(it.line))?;
            Ok(Request {
                place,
                condition: it.condition.clone(),
                hits: it.hit_condition.clone(),
                log: it.log_message.clone(),
            })
        };
        let requests = arguments.breakpoints.iter().map(|it| request(self, it)).collect();
        self.replace(&group, requests)
    }

    pub(super) fn set_function_breakpoints(&mut self, arguments: &Value) -> Answer {
        let arguments: SetNamedBreakpoints = read(arguments)?;
        let request = |it: &NamedBreakpoint| Ok(named(it, Place::Function(it.name.clone())));
        self.replace("functions", arguments.breakpoints.iter().map(request).collect())
    }

    pub(super) fn set_instruction_breakpoints(&mut self, arguments: &Value) -> Answer {
        let arguments: SetNamedBreakpoints = read(arguments)?;
        let request = |it: &NamedBreakpoint| {
            let address = CodeAddress::parse(&it.instruction_reference, it.offset)
                .ok_or_else(|| format!("no instruction at {}", it.instruction_reference))?;
            Ok(named(it, Place::Instruction(address.program, address.pc)))
        };
        self.replace("instructions", arguments.breakpoints.iter().map(request).collect())
    }

    /// Replaces the breakpoints of a group. One that cannot be set is answered with the reason.
    fn replace(&mut self, group: &str, requests: Vec<Result<Request, Failure>>) -> Answer {
        let old = self.groups.remove(group).unwrap_or_default();
        let session = self.session()?;
        session.retain_breakpoints(|it| !old.contains(&it.id));
        let (mut ids, mut answers) = (Vec::new(), Vec::new());
        for request in requests.into_iter().take(BREAKPOINTS_MAX) {
            let added = request.and_then(|it| self.add(&it));
            ids.extend(added.as_ref().ok().map(|(id, _)| *id));
            answers.push(match added {
                Ok((_, answer)) => answer,
                Err(message) => json!({ "verified": false, "message": message.chain() }),
            });
        }
        self.groups.insert(group.to_owned(), ids);
        Ok(json!({ "breakpoints": answers }))
    }

    fn add(&mut self, request: &Request) -> Result<(u32, Value), Failure> {
        let source = request.condition.clone().unwrap_or_default();
        let added = self.session()?.add_breakpoint(request);
        let breakpoint = added.map_err(|error| error.explain(&source))?;
        let (id, line) = (breakpoint.id, breakpoint.line);
        let first = breakpoint.pcs.first().copied();
        let mut answer = json!({ "id": id, "verified": first.is_some() });
        match first {
            Some((program, pc)) => {
                answer["instructionReference"] = CodeAddress { program, pc }.to_string().into();
            }
            None => {
                let message =
                    "no instruction is there: was the program built with debug information?";
                answer["message"] = message.into();
            }
        }
        if let Some(line) = line {
            answer["line"] = self.editor_line(line).into();
        }
        Ok((id, answer))
    }

    pub(super) fn set_exception_breakpoints(&mut self, arguments: &Value) -> Answer {
        let arguments: SetExceptionBreakpoints = read(arguments)?;
        let options = arguments.filter_options.iter();
        let options = options.map(|it| (it.filter_id.as_str(), it.condition.as_deref()));
        let filters = arguments.filters.iter().map(|it| (it.as_str(), None));
        let mut set = Filters::default();
        let mut answers = Vec::new();
        for (filter, condition) in filters.chain(options) {
            answers.push(match set_filter(&mut set, filter, condition) {
                Ok(()) => json!({ "verified": true }),
                Err(message) => json!({ "verified": false, "message": message.chain() }),
            });
        }
        self.session()?.set_filters(set);
        Ok(json!({ "breakpoints": answers }))
    }

    pub(super) fn exception_info(&mut self, _: &Value) -> Answer {
        match self.session()?.stop().clone() {
            Stop::Exception(name, text) => Ok(json!({
                "exceptionId": name,
                "description": text,
                "breakMode": "always",
            })),
            _ => Err("the session has not stopped at a trap, an error or a log line".into()),
        }
    }

    pub(super) fn data_breakpoint_info(&mut self, arguments: &Value) -> Answer {
        let arguments: DataBreakpointInfo = read(arguments)?;
        let frame = self.frame_index(arguments.frame_id);
        let range = match arguments.as_address {
            true => parse_address(&arguments.name).map(|it| (it, arguments.bytes.unwrap_or(8))),
            false => self.range_of(frame, &arguments)?,
        };
        let name = &arguments.name;
        let id = self.session()?.frame_id(frame);
        Ok(match range {
            Some((address, len)) => json!({
                "dataId": format!("{address:#x}@{}:{} {len} {name}", id.instruction, id.height),
                "description": format!("{name}: {len} bytes at {address:#x}"),
                "accessTypes": ["write"],
                "canPersist": false,
            }),
            None => json!({
                "dataId": null,
                "description": format!("{name} is in a register: watch memory, as *pointer"),
            }),
        })
    }

    /// Returns address and size of a value that a list shows, or of an expression.
    fn range_of(
        &mut self,
        frame: usize,
        arguments: &DataBreakpointInfo,
    ) -> Result<Option<(u64, u64)>, Failure> {
        let listed = match arguments.variables_reference {
            0 => None,
            reference => {
                let (_, shown) = self.listed(reference, 0, 0)?;
                shown.into_iter().find(|it| it.name == arguments.name)
            }
        };
        let session = self.session()?;
        let shown = match listed {
            Some(shown) => shown,
            None => session.evaluate(frame, &arguments.name).map_err(|it| it.to_string())?,
        };
        let size = session.size_of(frame, &shown.value);
        Ok(shown.value.address().map(|address| (address, arguments.bytes.unwrap_or(size))))
    }

    pub(super) fn set_data_breakpoints(&mut self, arguments: &Value) -> Answer {
        let arguments: SetNamedBreakpoints = read(arguments)?;
        let session = self.session()?;
        session.retain_watches(|_| false);
        let mut answers = Vec::new();
        for it in arguments.breakpoints.iter().take(BREAKPOINTS_MAX) {
            let Some((frame, address, len, name)) = watched(&it.data_id) else {
                answers.push(json!({ "verified": false, "message": "not a data id" }));
                continue;
            };
            let id = session.add_watch(frame, name, address, len);
            answers.push(json!({ "id": id, "verified": true }));
        }
        Ok(json!({ "breakpoints": answers }))
    }

    pub(super) fn breakpoint_locations(&mut self, arguments: &Value) -> Answer {
        let arguments: Lines = read(arguments)?;
        let first = self.to_line(arguments.line);
        let last = arguments.end_line.map_or(first, |it| self.to_line(it));
        let path = arguments.source.path.unwrap_or_default();
        let lines = self.session()?.lines_of(&path);
        let lines = lines.into_iter().filter(|it| (first..=last).contains(it));
        let lines: Vec<Value> = lines.map(|it| json!({ "line": self.editor_line(it) })).collect();
        Ok(json!({ "breakpoints": lines }))
    }
}

/// Parses a data id, `ADDRESS@INSTRUCTION:HEIGHT LENGTH NAME`: editors send it again after the session
/// has moved, so it says whose memory it is.
fn watched(data_id: &str) -> Option<(FrameId, u64, u64, &str)> {
    let (place, rest) = data_id.split_once(' ')?;
    let (len, name) = rest.split_once(' ').unwrap_or((rest, ""));
    let (address, frame) = place.split_once('@')?;
    let (instruction, height) = frame.split_once(':')?;
    let (instruction, height) = (instruction.parse().ok()?, height.parse().ok()?);
    let frame = FrameId { instruction, height, depth: 0 };
    Some((frame, parse_address(address)?, len.parse().ok()?, name))
}

fn named(it: &NamedBreakpoint, place: Place) -> Request {
    Request { place, condition: it.condition.clone(), hits: it.hit_condition.clone(), log: None }
}

fn set_filter(set: &mut Filters, filter: &str, condition: Option<&str>) -> Result<(), Failure> {
    let condition = condition.map(str::trim).filter(|it| !it.is_empty());
    match filter {
        "trap" => set.trap = true,
        "error" => set.error = true,
        // Without a condition any line matches.
        "log" => set.log = Some(condition.unwrap_or_default().to_owned()),
        // Without a condition any account matches.
        "account" => set.account = Some(condition.unwrap_or_default().to_owned()),
        "units" => {
            let number = condition.and_then(|it| it.replace('_', "").parse().ok());
            let message = "the condition is a number of compute units, as 1000";
            set.units_below = Some(number.ok_or(message)?);
        }
        _ => return Err(format!("there is no filter `{filter}`").into()),
    }
    Ok(())
}
