//! Builds projects (folders), and programs of single C sources.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context as _, Result};
use selkie::Signer as _;
use selkie_build::{
    BuildError, Built, Compiled, Options, Progress, Project, c, failure, idl,
    official::{self, Official},
    project::Language,
    sizes::Sizes,
    stamp::Stamp,
};
use selkie_inspect::{SourceMap, remember_built};
use selkie_link::Statics;
use selkie_replay::recordings::target_folders;
use selkie_svm::{Purpose, Rules, check_file};
use serde_json::{Value, json};

use super::{BuildArgs, report, sizes, source::output_path};
use crate::{
    command::{check, link},
    effects, files, folders, keys,
    program::{assemble, diagnostics_json, read, show_diagnostics},
    ui::{Advise as _, DIM, Ui},
};

/// Builds the project of a folder, or every program of a workspace.
pub(super) fn build_folder(ui: &mut Ui, folder: &Path, args: &BuildArgs) -> Result<Vec<Value>> {
    let projects = with_help(Project::find(folder, args.package.as_deref()))?;
    projects.iter().map(|project| Job::new(project, args, None)?.build(ui)).collect()
}

/// Builds the programs of a folder for the sBPF versions that they were built for before, if they were
/// built by Selkie or not at all.
pub(super) fn build_for_tests(
    ui: &mut Ui,
    folder: &Path,
    mut args: BuildArgs,
) -> Result<Vec<Value>> {
    let Ok(projects) = Project::find(folder, None) else { return Ok(Vec::new()) };
    let mut built = Vec::new();
    for project in &projects {
        // Cargo replaces the dashes of packages in Rust.
        let names = [project.name.clone(), project.name.replace('-', "_")];
        let deploy = target_folders().into_iter().map(|it| it.join("deploy"));
        let mut files = deploy.flat_map(|it| names.clone().map(|name| it.join(name + ".so")));
        if let Some(program) = files.find(|it| it.is_file()) {
            if !program.with_extension("so.debug").is_file() {
                let shown = report::relative(&program).display();
                ui.aside(&format!(
                    "{DIM}{shown} was built by another tool, and is tested as it is{DIM:#}\n"
                ))?;
                continue;
            }
            args.assembler.arch =
                selkie_elf::version(&read(&program)?).unwrap_or(args.assembler.arch);
        }
        built.push(Job::new(project, &args, None)?.build(ui)?);
    }
    Ok(built)
}

/// Builds a program of one C source, beside it.
pub(super) fn build_source(ui: &mut Ui, source: &Path, args: &BuildArgs) -> Result<Value> {
    read(source)?;
    let output = output_path(source, args, "so")?;
    Job::new(&Project::of_c(source), args, Some(output))?.build(ui)
}

/// Compiles one C source and returns the bytes of its object, or the compiler's errors, which were
/// shown.
pub(super) fn compile_source(
    ui: &mut Ui,
    source: &Path,
    args: &BuildArgs,
) -> Result<std::result::Result<Vec<u8>, Value>> {
    let project = Project::of_c(source);
    let job = Job::new(&project, args, None)?;
    let mut progress = Shown { ui, verbose: args.verbose };
    match c::compile(&project, &job.options.cache.join("objects"), &job.options, &mut progress) {
        Ok(compiled) => {
            let object = compiled.objects.into_iter().next();
            Ok(Ok(object.context("the compiler wrote no object")?.1))
        }
        Err(BuildError::Compiler(command)) => Ok(Err(json!([{ "command": command }]))),
        Err(other) => with_help(Err(other)),
    }
}

/// Converts a setup failure into an error with help.
fn with_help<T>(result: Result<T, BuildError>) -> Result<T> {
    match result {
        Err(BuildError::Setup { message, help }) => Err(anyhow::anyhow!(message)).advise(help),
        other => Ok(other?),
    }
}

struct Job<'a> {
    project: &'a Project,
    args: &'a BuildArgs,
    options: Options,
    /// The output path, if given.
    output: Option<PathBuf>,
    /// Everything besides files whose change requires a rebuild.
    fingerprint: String,
    stamp: PathBuf,
}

/// The program to deploy, and the same with symbols and line numbers.
struct Forms {
    program: Vec<u8>,
    debug: Vec<u8>,
}

/// The result of compiling and linking, or the errors as JSON, which were shown.
type Outcome = Result<Made, Value>;

struct Made {
    /// The name of the program's file.
    name: String,
    forms: Forms,
    toolchain: String,
    /// The source files; `None` if they are not known, so that the next build cannot be skipped.
    sources: Option<Vec<PathBuf>>,
    /// The target folder; programs go to its folder `deploy`.
    target: PathBuf,
    /// Known if Selkie's linker linked the program.
    sizes: Option<Sizes>,
}

/// Splits cargo's option for the target folder off its arguments: builds pass one themselves.
fn take_target_dir(arguments: &[String]) -> (Option<PathBuf>, Vec<String>) {
    const OPTION: &str = "--target-dir";
    let (mut target, mut others) = (None, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix(OPTION) {
            Some("") => arguments.next().map(String::as_str),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        match value {
            Some(folder) => target = std::path::absolute(folder).ok(),
            None => others.push(argument.clone()),
        }
    }
    (target, others)
}

impl<'a> Job<'a> {
    #[allow(clippy::disallowed_methods, reason = "cargo's own variables")]
    fn new(project: &'a Project, args: &'a BuildArgs, output: Option<PathBuf>) -> Result<Self> {
        let cache = folders::caches().advise("XDG_CACHE_HOME names a folder")?.join("build");
        let linker = env::current_exe().context("cannot find the path of selkie")?;
        let (target, arguments) = take_target_dir(&args.arguments);
        let options = Options {
            version: args.assembler.arch,
            toolchain: args.toolchain.clone(),
            linker,
            includes: args.assembler.include.clone(),
            defines: args.assembler.defines.clone(),
            arguments,
            target,
            statics: if args.no_statics { Statics::Refuse } else { Statics::Heap },
            cache,
        };
        // Another version of Selkie may link differently.
        let linker_time = fs::metadata(&options.linker).and_then(|it| it.modified()).ok();
        let output = output.or_else(|| args.output.clone());
        let variables =
            ["CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"].map(env::var_os);
        let paths = (&output, &args.out_dir, variables);
        let fingerprint = format!(
            "{options:?} {paths:?} {linker_time:?} {:?}",
            (args.debug, args.strip, args.section_names, &args.features)
        );
        let mut hasher = DefaultHasher::new();
        (&project.root, &project.name, &output, args.assembler.arch.to_string()).hash(&mut hasher);
        let name = format!("{}-{:016x}.json", project.name, hasher.finish());
        let stamp = options.cache.join("stamps").join(name);
        Ok(Self { project, args, options, output, fingerprint, stamp })
    }

    #[allow(clippy::disallowed_methods, reason = "a stamp has the time of the build")]
    fn build(&self, ui: &mut Ui) -> Result<Value> {
        // The sizes are those of a link, which is repeated for them.
        if !self.args.force
            && !self.args.sizes
            && let Some(stamp) = Stamp::fresh(&self.stamp, &self.fingerprint)
            && let [program, debug, ..] = stamp.outputs.as_slice()
        {
            let forms = Forms { program: read(program)?, debug: read(debug)? };
            let report = self.report(ui, &stamp, &forms, true)?;
            return self.report_idl(ui, report);
        }
        if matches!(self.project.language, Language::Assembly(_)) {
            ui.warn_of_effects_if(effects::IN_ASSEMBLY)?;
        }
        let begun = SystemTime::now();
        let compiled = match &self.project.language {
            Language::Assembly(source) => self.assemble(ui, source),
            _ if self.is_official() => self.build_officially(ui),
            _ => self.compile(ui),
        };
        let Made { name, mut forms, toolchain, sources, target, sizes } = match compiled? {
            Ok(made) => made,
            Err(refused) => return Ok(refused),
        };
        forms.program = self.args.with_section_names(forms.program);
        let features = self.args.features.of(Rules::mainnet()).features;
        let checked = check_file(&forms.program, features, Purpose::Deployment);
        if let Err(refused) = checked {
            if !ui.json {
                let map = SourceMap::load(forms.debug.clone());
                check::refuse(ui, self.project.name.as_ref(), &map, &refused)?;
            }
            return Ok(self.refused("verify", json!([{ "message": refused.error.to_string() }])));
        }
        let outputs = self.write(ui, &forms, &target.join("deploy"), &name)?;
        let known = sources.as_deref().unwrap_or_default();
        let stamp = Stamp::now(self.fingerprint.clone(), toolchain, known, outputs, begun);
        if sources.is_some() {
            let failed = || format!("cannot write {}", self.stamp.display());
            stamp.write(&self.stamp).with_context(failed)?;
        }
        let report = self.report(ui, &stamp, &forms, false)?;
        let report = self.report_sizes(ui, report, sizes.as_ref())?;
        self.report_idl(ui, report)
    }

    /// Adds the sizes to a report if they were asked for.
    fn report_sizes(&self, ui: &mut Ui, mut report: Value, sizes: Option<&Sizes>) -> Result<Value> {
        match sizes {
            Some(sizes) if self.args.sizes && ui.json => report["sizes"] = sizes::to_json(sizes),
            Some(sizes) if self.args.sizes => sizes::show(ui, sizes, self.args.functions)?,
            None if self.args.sizes => {
                ui.warning("no sizes are known: Selkie's linker did not link this program")?;
            }
            _ => {}
        }
        Ok(report)
    }

    /// Writes the IDL and adds its path to a report, if it was asked for.
    fn report_idl(&self, ui: &mut Ui, mut report: Value) -> Result<Value> {
        if !self.args.idl {
            return Ok(report);
        }
        let mut progress = Shown { ui, verbose: self.args.verbose };
        let made = match idl::build(self.project, &self.options, &mut progress) {
            Ok(made) => made,
            Err(failure) => {
                let refused = self.refuse(ui, failure)?;
                return Ok(refused.err().unwrap_or_default());
            }
        };
        let path = made.target.join("idl").join(made.name).with_extension("json");
        files::write_with_folders(&path, made.json.as_bytes())?;
        let shown = report::relative(&path).display().to_string();
        ui.aside(&format!("{DIM}IDL: {shown}{DIM:#}\n"))?;
        report["idl"] = json!(shown);
        Ok(report)
    }

    fn is_official(&self) -> bool {
        self.args.toolchain.as_deref() == Some(official::NAME)
    }

    /// Runs the official toolchain, which has caches of its own.
    fn build_officially(&self, ui: &mut Ui) -> Result<Outcome> {
        let mut progress = Shown { ui, verbose: self.args.verbose };
        match official::build(self.project, &self.options, &mut progress) {
            Ok(Official { name, program, unstripped, toolchain, target }) => {
                let program = if self.args.debug { unstripped.clone() } else { program };
                let forms = Forms { program, debug: unstripped };
                Ok(Ok(Made { name, forms, toolchain, sources: None, target, sizes: None }))
            }
            Err(failure) => self.refuse(ui, failure),
        }
    }

    fn refused(&self, stage: &str, errors: Value) -> Value {
        json!({
            "project": self.project.name, "program": Value::Null, "stage": stage, "errors": errors,
        })
    }

    /// Compiles and links, and shows errors.
    fn compile(&self, ui: &mut Ui) -> Result<Outcome> {
        let mut progress = Shown { ui, verbose: self.args.verbose };
        // Objects of a single source go to no folder of the user's.
        let target = match self.output {
            Some(_) => self.options.cache.join("objects"),
            None => self.target(),
        };
        let linked = selkie_build::build(self.project, &target, &self.options, &mut progress);
        match linked {
            Ok((compiled, built)) => {
                for it in &built.differences {
                    ui.warning(&format!("{it}, {}", failure::LAYOUT_CAUSE))?;
                }
                let sizes = Some(Sizes::of(&built.stripped));
                let forms = self.forms(built);
                let Compiled { name, toolchain, sources, target, .. } = compiled;
                Ok(Ok(Made { name, forms, toolchain, sources: Some(sources), target, sizes }))
            }
            Err(failure) => self.refuse(ui, failure),
        }
    }

    /// Shows a failure.
    fn refuse(&self, ui: &mut Ui, failure: BuildError) -> Result<Outcome> {
        match failure {
            BuildError::Link(errors) => {
                if !ui.json {
                    link::show_errors(ui, &errors)?;
                }
                Ok(Err(self.refused("link", json!(link::errors_json(&errors)))))
            }
            BuildError::Assembler(output) => {
                if !ui.json {
                    show_diagnostics(ui, &output)?;
                }
                Ok(Err(self.refused("assemble", json!(diagnostics_json(&output)))))
            }
            BuildError::Compiler(command) => {
                Ok(Err(self.refused("compile", json!([{ "command": command }]))))
            }
            BuildError::Layout { differences, reason } => {
                let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
                if !ui.json {
                    let cause = failure::LAYOUT_CAUSE;
                    let error = format!("{}, {cause} ({reason})", shown.join("\n  "));
                    ui.fail(&error, Some(failure::LAYOUT_HELP));
                }
                Ok(Err(self.refused("layout", json!(shown))))
            }
            setup @ BuildError::Setup { .. } => with_help(Err(setup)),
        }
    }

    /// Returns cargo's target folder: `CARGO_TARGET_DIR`, or else `target` of the project.
    #[allow(clippy::disallowed_methods, reason = "cargo's own variable")]
    fn target(&self) -> PathBuf {
        let named = env::var_os("CARGO_TARGET_DIR").filter(|it| !it.is_empty());
        let here = || env::current_dir().unwrap_or_default();
        named.map_or_else(|| self.project.root.join("target"), |it| here().join(it))
    }

    fn forms(&self, built: Built) -> Forms {
        let Built { whole, stripped, .. } = built;
        let program = if self.args.debug { whole.elf.clone() } else { stripped.elf };
        Forms { program, debug: whole.debug_elf.unwrap_or(whole.elf) }
    }

    fn assemble(&self, ui: &mut Ui, source: &Path) -> Result<Outcome> {
        let output = assemble(source, &self.args.assembler, true, false)?;
        let assembly =
            if ui.json { output.assembly.as_ref() } else { show_diagnostics(ui, &output)? };
        let Some(assembly) = assembly else {
            return Ok(Err(self.refused("assemble", json!(diagnostics_json(&output)))));
        };
        let debug = assembly.to_elf();
        let program = match self.args.debug {
            true => debug.clone(),
            false => {
                let output = assemble(source, &self.args.assembler, false, true)?;
                output.assembly.context("the source changed while it was read")?.to_elf()
            }
        };
        let target = self.target();
        let toolchain = "selkie's assembler".to_owned();
        let (name, forms) = (self.project.name.clone(), Forms { program, debug });
        // Assembling takes no longer than looking for changes.
        Ok(Ok(Made { name, forms, toolchain, sources: None, target, sizes: None }))
    }

    /// Writes the program to the output path if given, or else to the output folder with the key of
    /// its address.
    fn write(&self, ui: &mut Ui, forms: &Forms, deploy: &Path, name: &str) -> Result<Vec<PathBuf>> {
        let folder = self.args.out_dir.as_deref().unwrap_or(deploy);
        let program = self.output.clone().unwrap_or_else(|| folder.join(format!("{name}.so")));
        let debug = program.with_extension("so.debug");
        for (path, bytes) in [(&program, &forms.program), (&debug, &forms.debug)] {
            files::write_with_folders(path, bytes)?;
        }
        // In the usual folder, tools find it without a note.
        let is_usual =
            self.output.is_none() && self.args.out_dir.is_none() && self.options.target.is_none();
        if !is_usual {
            // What cannot be noted is found beside the program.
            let _ = remember_built(&debug, &forms.program);
        }
        if self.output.is_some() {
            return Ok(vec![program, debug]);
        }
        let key = program.with_file_name(format!("{name}-keypair.json"));
        keys::read_or_create(ui, &key)?;
        Ok(vec![program, debug, key])
    }

    fn report(&self, ui: &mut Ui, stamp: &Stamp, forms: &Forms, is_fresh: bool) -> Result<Value> {
        let key = stamp.outputs.get(2).map(|path| keys::read(path)).transpose()?;
        let report = report::Report {
            project: &self.project.name,
            program: &stamp.outputs[0],
            toolchain: &stamp.toolchain,
            address: key.map(|it| it.pubkey()),
            elf: &forms.program,
            debug: &forms.debug,
            is_fresh,
        };
        if !ui.json {
            report.show(ui, self.args.functions)?;
        }
        let declared = self.project.declared_id();
        let is_other = |it: &String| report.address.is_some_and(|key| key.to_string() != *it);
        let Some(declared) = declared.filter(is_other) else { return report.to_json() };
        ui.warning(&format!(
            "the program declares {declared}, which is not its keypair's address"
        ))?;
        let help = "deploy with the keypair of the declared address, or declare the keypair's";
        ui.aside(&format!("  = help: {help}\n"))?;
        let mut json = report.to_json()?;
        json["declared"] = json!(declared);
        Ok(json)
    }
}

/// Shows the progress of a build.
struct Shown<'a> {
    ui: &'a mut Ui,
    verbose: bool,
}

// Failures to write progress are ignored.
impl Progress for Shown<'_> {
    fn toolchain(&mut self, toolchain: &str) {
        let _ = self.ui.aside(&format!("{DIM}with {toolchain}{DIM:#}\n"));
    }

    fn command(&mut self, command: &str) {
        if self.verbose {
            let _ = self.ui.aside(&format!("{DIM}$ {command}{DIM:#}\n"));
        }
    }

    fn output(&mut self, text: &str) {
        let _ = self.ui.aside(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_folder_is_no_argument_of_cargo() {
        let check = |arguments: &[&str], folder: Option<&str>, others: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
            let (target, left) = take_target_dir(&arguments);
            assert_eq!(target, folder.map(PathBuf::from), "{arguments:?}");
            assert_eq!(left, others, "{arguments:?}");
        };
        check(&["--target-dir", "/out", "--locked"], Some("/out"), &["--locked"]);
        check(&["--locked", "--target-dir=/out"], Some("/out"), &["--locked"]);
        check(&["--features", "a"], None, &["--features", "a"]);
        check(&["--target-dir"], None, &["--target-dir"]);
    }
}
