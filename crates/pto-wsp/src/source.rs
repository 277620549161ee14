//! What a program is compiled from: a file of any kind, or what a builder made.

use crate::backend::{cpu::CpuSimBackend, registry_with};
use crate::codes::{
    BAD_SOURCE_FILE, FILE_MISSING, FILE_UNREADABLE, OPTION_OF_OTHERS, SEVERAL_LIBRARIES, TWICE_GIVEN,
    UNKNOWN_NAME, WRONG_KIND,
};
use crate::{Error, Program};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wsp_core::limits::{MAX_SOURCE_BYTES, MAX_UNIT_BYTES};
use wsp_cpu::tg::TgKernels;
use wsp_cpu::workload::{KernelRegistry, TypedKernel};
use wsp_diag::{Diagnostic, SourceMap, Span, did_you_mean};
use wsp_ir::Module;
use wsp_ir::tg::TgModule;
use wsp_ir::workload::{Use, WorkloadModule, warnings};
use wsp_isa::ptow::assemble;
use wsp_lang::Purpose;
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{
    CompileOptions, KernelFile, ParamValue, PlanSource, ProgramKind, UnitSource, library_entry, lower,
};

/// A program before it is compiled, with the functions of its kernels and the options of its compilation.
///
/// The end of a file's name says what it is: `.pto` a program of spaces, `.wsp` a workload, `.tg` a task graph, `.ptog` a task graph in
/// bytes, `.ptow` a program that generates tasks, `.ptows` the text of one. These two are the workload that generates the same tasks: values
/// and extents that they do not have are its parameters.
///
/// ```
/// use pto_wsp::{Args, RunOptions, Source};
///
/// let text = "
///     tensor x: f32[8, 4]; tensor s: f32[8];
///     kernel sum(in x, out s);
///     workload main { parallel for i in 0..8 { sum(x[i], s[i]); } }
/// ";
/// let sum = |x: &[f32], s: &mut [f32]| s[0] = x.iter().sum();
/// let program = Source::text("sums.wsp", text).kernel("sum", sum).compile()?;
/// let x = pto_wsp::Array::of(&[8, 4], &[0.5f32; 32])?;
/// let outcome = program.execute(Args::new().with("x", x), RunOptions::default())?;
/// assert_eq!(outcome.outputs["s"].as_slice::<f32>(), Some(&[2.0f32; 8][..]));
/// # Ok::<(), pto_wsp::Error>(())
/// ```
#[derive(Debug)]
pub struct Source {
    content: Content,
    /// Files that it may use, by their paths.
    files: BTreeMap<PathBuf, String>,
    /// Whether files that are not among these are read.
    reads_files: bool,
    backend: CpuSimBackend,
    options: CompileOptions,
    /// Values of parameters of files of kernels that a task graph uses.
    set: Vec<(String, ParamValue)>,
    /// Files of kernels of a program that generates tasks.
    kernel_files: Vec<String>,
    /// The first function or value that was refused.
    fault: Option<Error>,
}

#[derive(Debug)]
enum Content {
    File(PathBuf, Vec<u8>),
    Workload(Box<WorkloadModule>),
    Unit(Box<TgModule>),
}

impl Source {
    /// A file with this name and content, of text or bytes. Files that it uses are given with [`file`](Self::file).
    pub fn text(name: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Source {
        Source::of(Content::File(name.into(), content.into()))
    }

    /// The file at this path. Files that it uses are read from the paths that it says, relative to its folder.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Source, Error> {
        let path = path.into();
        let is_unit = matches!(extension(&path).as_deref(), Some("tg" | "ptog"));
        let content = read_bytes(&path, if is_unit { MAX_UNIT_BYTES } else { MAX_SOURCE_BYTES })?;
        Ok(Source { reads_files: true, ..Source::of(Content::File(path, content)) })
    }

    /// A workload that was built or parsed.
    pub fn workload(workload: impl Into<WorkloadModule>) -> Source {
        Source::of(Content::Workload(Box::new(workload.into())))
    }

    /// A unit of task graphs that was built or parsed.
    pub fn unit(unit: TgModule) -> Source {
        Source::of(Content::Unit(Box::new(unit)))
    }

    fn of(content: Content) -> Source {
        Source {
            content,
            files: BTreeMap::new(),
            reads_files: false,
            backend: CpuSimBackend::default(),
            options: CompileOptions::default(),
            set: Vec::new(),
            kernel_files: Vec::new(),
            fault: None,
        }
    }

    /// A file that it may use or include. The path is relative to the folder of the source's name, as `use` and `#include` have it.
    #[must_use]
    pub fn file(mut self, path: impl AsRef<Path>, text: impl Into<String>) -> Source {
        let path = self.folder().join(path);
        self.files.insert(path, text.into());
        self
    }

    /// The body of a kernel that a workload declares: a closure over the kernel's parameters, see [`TypedKernel`].
    #[must_use]
    pub fn kernel<Params>(mut self, name: impl Into<String>, body: impl TypedKernel<Params>) -> Source {
        if let Err(fault) = self.backend.kernels.register_typed(name, body) {
            self.fault.get_or_insert(fault.into());
        }
        self
    }

    /// Bodies of kernels that a workload declares, in place of those that it has.
    #[must_use]
    pub fn kernels(mut self, kernels: KernelRegistry) -> Source {
        self.backend.kernels = kernels;
        self
    }

    /// Functions for the entry symbols of a task graph's kernels, in place of those that it has. The task graph calls each of them.
    #[must_use]
    pub fn unit_kernels(mut self, kernels: TgKernels) -> Source {
        self.backend.unit_kernels = kernels;
        self
    }

    /// The file with the kernels of a program that generates tasks, which does not say where they are, relative to the program's folder. Other
    /// programs name theirs.
    #[must_use]
    pub fn kernel_file(mut self, path: impl Into<String>) -> Source {
        self.kernel_files.push(path.into());
        self
    }

    /// Applies the schedule of this name in place of those that the source applies.
    #[must_use]
    pub fn schedule(mut self, name: impl Into<String>) -> Source {
        self.options.schedule = Some(name.into());
        self
    }

    /// Options of the compilation, in place of those that it has; a [`schedule`](Self::schedule) stays unless they name one.
    #[must_use]
    pub fn options(mut self, options: CompileOptions) -> Source {
        let schedule = options.schedule.or(self.options.schedule);
        self.options = CompileOptions { schedule, ..options };
        self
    }

    /// The value of a parameter of the files whose kernels a task graph calls; those of other programs are arguments of runs.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: ParamValue) -> Source {
        let name = name.into();
        if self.set.iter().any(|(other, _)| *other == name) {
            let fault = Diagnostic::error(TWICE_GIVEN, format!("parameter `{name}` is set twice"));
            self.fault.get_or_insert(fault.help("leave one of them out").into());
        }
        self.set.push((name, value));
        self
    }

    /// Compiles it by the backend that takes it.
    ///
    /// # Errors
    /// Everything that is wrong with the source, with the lines; what it was given and has no effect on this kind of program; no backend
    /// runs its target.
    pub fn compile(mut self) -> Result<Program, Error> {
        let (plan, notes, sources) = self.planned()?;
        Program::of(&plan, &registry_with(self.backend), notes, sources)
    }

    /// Its plan, what the compiler says of it, and the texts that it was read from.
    ///
    /// # Errors
    /// As [`Source::compile`], but for the target.
    pub(crate) fn planned(&mut self) -> Result<(PlanSource, Vec<Diagnostic>, SourceMap), Error> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let mut sources = SourceMap::default();
        let mut notes = Vec::new();
        let plan = self.plan(&mut sources, &mut notes);
        match plan.and_then(|plan| self.check_used(&plan).map(|()| plan)) {
            Ok(plan) => Ok((plan.with_sources(&sources), notes, sources)),
            Err(found) => Err(Error::in_sources(found, &sources)),
        }
    }

    /// Refuses what has no effect on this program.
    fn check_used(&self, plan: &PlanSource) -> Result<(), Vec<Diagnostic>> {
        use ProgramKind::{Spaces, Unit, Workload};
        let kind = plan.kind();
        let usual = CompileOptions::default();
        let set = self.set.first().map_or("NAME", |(name, _)| name);
        let leave = || "leave it out".to_owned();
        let given: [(&str, &[ProgramKind], bool, String); 5] = [
            (
                "kernel",
                &[Workload],
                self.backend.kernels.names().next().is_some(),
                match kind {
                    Unit => "give functions of a task graph with `Source::unit_kernels(kernels)`".to_owned(),
                    Spaces | Workload => leave(),
                },
            ),
            (
                "unit_kernels",
                &[Unit],
                self.backend.unit_kernels.entries().next().is_some(),
                match kind {
                    Workload => "give a function of a workload with `Source::kernel(name, body)`".to_owned(),
                    Spaces | Unit => leave(),
                },
            ),
            ("schedule", &[Spaces, Workload], self.options.schedule.is_some(), leave()),
            ("max_blocks", &[Spaces, Workload], self.options.max_blocks != usual.max_blocks, leave()),
            (
                "set",
                &[Unit],
                !self.set.is_empty(),
                format!("give the value to runs: `Args::new().with(\"{set}\", value)`"),
            ),
        ];
        let refused = given.into_iter().filter(|(_, kinds, given, _)| *given && !kinds.contains(&kind));
        let mut found: Vec<Diagnostic> = refused
            .map(|(name, _, _, help)| {
                let fault = format!("`{name}` of a `Source` has no meaning for a {kind}");
                Diagnostic::error(OPTION_OF_OTHERS, fault).help(help)
            })
            .collect();
        if let PlanSource::Unit(unit) = plan {
            let called = unit.module.entry_symbols();
            let idle = self.backend.unit_kernels.entries().filter(|entry| !called.contains(entry));
            found.extend(idle.map(|entry| {
                let fault = format!("the task graph has no kernel with the entry symbol `{entry}`");
                Diagnostic::error(UNKNOWN_NAME, fault).help(
                    match did_you_mean(entry, called.iter().copied()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "leave its function out of `Source::unit_kernels`".to_owned(),
                    },
                )
            }));
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    fn folder(&self) -> PathBuf {
        match &self.content {
            Content::File(name, _) => name.parent().unwrap_or(Path::new("")).to_owned(),
            Content::Workload(_) | Content::Unit(_) => PathBuf::new(),
        }
    }

    fn plan(
        &mut self,
        sources: &mut SourceMap,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<PlanSource, Vec<Diagnostic>> {
        let folder = self.folder();
        let content = std::mem::replace(&mut self.content, Content::Unit(Box::default()));
        let (path, bytes) = match content {
            Content::File(path, bytes) => (path, bytes),
            Content::Workload(module) => return self.plan_workload(*module, &folder, sources, notes),
            Content::Unit(unit) => return self.plan_unit(*unit, &folder, sources, notes),
        };
        let name = path.display().to_string();
        let text = |bytes| utf8(&path, bytes).map_err(|fault| vec![fault]);
        let kind = extension(&path);
        if !self.kernel_files.is_empty() && !matches!(kind.as_deref(), Some("ptow" | "ptows")) {
            let fault = "`kernel_file` of a `Source` is for programs that generate tasks (`.ptow`, `.ptows`)";
            return Err(vec![
                Diagnostic::error(OPTION_OF_OTHERS, fault).help("name it in the file: `use \"kernels.pto\"`"),
            ]);
        }
        match kind.as_deref() {
            Some("pto") => {
                let module = self.module(&path, &text(bytes)?, Purpose::Program, sources, notes)?;
                if !module.kernel_entries.is_empty() {
                    let fault = format!("`{name}` has kernels of task graphs, and nothing to launch");
                    let fault = Diagnostic::error(WRONG_KIND, fault);
                    return Err(vec![fault.help(format!("a task graph takes them: `use \"{name}\"`"))]);
                }
                let plan = lower(&module, &self.options)?;
                notes.extend(plan.notes.iter().cloned());
                Ok(plan.into())
            }
            Some("wsp") => {
                let text = text(bytes)?;
                let parsed = wsp_ir::workload::text::parse(&name, &text, sources);
                self.plan_workload(kept(parsed, notes)?, &folder, sources, notes)
            }
            Some(end @ ("ptow" | "ptows")) => {
                let bytes = if end == "ptow" { bytes } else { assemble(&name, &text(bytes)?, sources)? };
                let text = wsp_isa::ptow::workload(&name, &bytes, &self.kernel_files)?;
                let parsed = wsp_ir::workload::text::parse(&name, &text, sources);
                self.plan_workload(kept(parsed, notes)?, &folder, sources, notes)
            }
            Some("tg") => {
                let text = text(bytes)?;
                let parsed = wsp_isa::tg::text::parse(&name, &text, sources);
                self.plan_unit(kept(parsed, notes)?, &folder, sources, notes)
            }
            Some("ptog") => {
                let mut unit = wsp_isa::tg::binary::decode(&name, &bytes)?;
                // Without its text, declarations stand at the beginning of a file without lines.
                let file = sources.add(name, "");
                unit.spans.clear();
                unit.uses.iter_mut().for_each(|used| used.span = Span::new(file, 0, 0));
                self.plan_unit(unit, &folder, sources, notes)
            }
            _ => Err(vec![
                Diagnostic::error(WRONG_KIND, format!("`{name}` is no program that can be run"))
                    .note("names of programs end in `.pto`, `.wsp`, `.tg`, `.ptog`, `.ptow` or `.ptows`")
                    .help("give it the name of what it is"),
            ]),
        }
    }

    fn plan_workload(
        &self,
        workload: WorkloadModule,
        folder: &Path,
        sources: &mut SourceMap,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<PlanSource, Vec<Diagnostic>> {
        notes.extend(warnings(&workload));
        let library = match only_used(&workload.uses).map_err(|fault| vec![fault])? {
            None => None,
            Some(one) => {
                let mut library = self.used(&folder.join(&one.path), one.span, sources, notes)?;
                if library.entry.is_none() {
                    library.entry = Some(library_entry(&library));
                }
                Some(library)
            }
        };
        Ok(WorkloadPlan::new(workload, library.as_ref(), &self.options)?.into())
    }

    fn plan_unit(
        &self,
        unit: TgModule,
        folder: &Path,
        sources: &mut SourceMap,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<PlanSource, Vec<Diagnostic>> {
        let found = wsp_ir::tg::verify(&unit);
        let unit = kept((found.iter().all(|one| !one.is_error()).then_some(unit), found), notes)?;
        let mut files = Vec::new();
        let mut known = Vec::new();
        for used in &unit.uses {
            let path = folder.join(unit.str(used.path));
            if known.contains(&path) {
                continue;
            }
            let module = Arc::new(self.used(&path, used.span, sources, notes)?);
            let set = self.set.iter().filter(|(name, _)| module.param_named(name).is_some());
            files.push(KernelFile { set: set.cloned().collect(), module });
            known.push(path);
        }
        let has = |name: &str| files.iter().any(|file| file.module.param_named(name).is_some());
        if let Some((name, _)) = self.set.iter().find(|(name, _)| !has(name)) {
            let fault = format!("no file of kernels that the task graph uses has a parameter `{name}`");
            return Err(vec![Diagnostic::error(UNKNOWN_NAME, fault).help("leave it out")]);
        }
        Ok(UnitSource { module: unit, files, target: self.options.target }.into())
    }

    /// A file of kernels.
    fn used(
        &self,
        path: &Path,
        span: Span,
        sources: &mut SourceMap,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<Module, Vec<Diagnostic>> {
        let text = self.read(path).map_err(|fault| vec![fault.at(span, "used here")])?;
        self.module(path, &text, Purpose::Library, sources, notes)
    }

    fn module(
        &self,
        path: &Path,
        text: &str,
        purpose: Purpose,
        sources: &mut SourceMap,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<Module, Vec<Diagnostic>> {
        let name = path.display().to_string();
        kept(wsp_lang::check_with(&name, text, purpose, sources, &mut |path| self.read(path)), notes)
    }

    fn read(&self, path: &Path) -> Result<String, Diagnostic> {
        match self.files.get(path) {
            Some(text) => Ok(text.clone()),
            None if self.reads_files => read_source(path),
            None => {
                let fault = format!("there is no file `{}`", path.display());
                Err(Diagnostic::error(FILE_MISSING, fault).help(
                    "give it with `Source::file(path, text)`, or open the source with `Source::open(path)`",
                ))
            }
        }
    }
}

/// The end of a file's name, in lower case.
fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_string_lossy().to_ascii_lowercase())
}

/// What was made of a text, whose warnings are notes of the program.
fn kept<T>(
    (made, found): (Option<T>, Vec<Diagnostic>),
    notes: &mut Vec<Diagnostic>,
) -> Result<T, Vec<Diagnostic>> {
    match made {
        Some(made) => {
            notes.extend(found);
            Ok(made)
        }
        None => Err(found),
    }
}

/// The one file that a workload uses; none where it uses none.
///
/// # Errors
/// It uses several.
pub fn only_used(uses: &[Use]) -> Result<Option<&Use>, Diagnostic> {
    match uses {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        [first, second, ..] => {
            Err(Diagnostic::error(SEVERAL_LIBRARIES, "a workload takes its kernels from one file")
                .at(second.span, "a second one here")
                .label(first.span, "the first one")
                .help(format!("put the kernels of `{}` into `{}`", second.path, first.path)))
        }
    }
}

fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String, Diagnostic> {
    String::from_utf8(bytes).map_err(|_| {
        let fault = Diagnostic::error(BAD_SOURCE_FILE, format!("file `{}` is no UTF-8 text", path.display()));
        fault.help("give the path of a source file, saved as UTF-8")
    })
}

/// The text of a source file.
///
/// # Errors
/// It cannot be read, is longer than a source may be, or no UTF-8 text.
pub fn read_source(path: &Path) -> Result<String, Diagnostic> {
    utf8(path, read_bytes(path, MAX_SOURCE_BYTES)?)
}

/// The bytes of a file that has at most as many.
fn read_bytes(path: &Path, most: u32) -> Result<Vec<u8>, Diagnostic> {
    let name = path.display();
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    let read = file.and_then(|file| file.take(u64::from(most) + 1).read_to_end(&mut bytes));
    read.map_err(|fault| match fault.kind() {
        std::io::ErrorKind::NotFound => Diagnostic::error(FILE_MISSING, format!("there is no file `{name}`"))
            .help("give the path of a file that exists; relative paths start at the current folder"),
        _ => Diagnostic::error(FILE_UNREADABLE, format!("file `{name}` cannot be read"))
            .note(fault.to_string())
            .help("give the path of a source file"),
    })?;
    if bytes.len() > most as usize {
        let message = format!("file `{name}` has more than {most} bytes, as many as a source may have");
        return Err(Diagnostic::error(BAD_SOURCE_FILE, message).help("give the path of a source file"));
    }
    Ok(bytes)
}
