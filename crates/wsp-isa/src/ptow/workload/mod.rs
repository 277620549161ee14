//! Bytes to a workload: the text of the `.wsp` file that generates the same tasks in the same order.
//!
//! A program holds no more than what generates tasks. What it has not is a parameter of the workload: the extents of a tensor `x` are
//! `x_0`, `x_1` and so on, the first value of a slot `n` is `n_init`; no parameter has a default. Kernels are declared with what their tasks give them, or are of a
//! used file. A `LET`, and what stands behind a `RESET` of labels, is a call. With labels the dependences are `hybrid`: those that the program
//! names, beside those that follow from data.

mod body;
mod expr;
mod pipeline;
mod schedule;
mod tables;

use super::codes;
use super::image::AlignedBytes;
use super::print::not_a_program;
use std::cell::Cell;
use wsp_core::ptow::{Program, Verified, Word, marks_needed};
use wsp_core::{AxisId, KernelId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{KernelParam, ParamKind, Signature, Use, WorkloadModule, text};
use wsp_ordered::OrderedSet;

/// The text of the workload that generates the tasks of a program. Its kernels are those of the files `used`, of which one that is not
/// absolute is relative to the program's folder; without one they are declared.
///
/// # Errors
/// Bytes that are no program or break a rule; what a workload cannot say: generators, the number of a round, attributes within
/// loops, a kernel whose tasks have arguments of several kinds.
pub fn workload(name: &str, bytes: &[u8], used: &[String]) -> Result<String, Vec<Diagnostic>> {
    let aligned = AlignedBytes::copy(bytes);
    let program = Program::read(aligned.as_bytes()).map_err(|error| vec![not_a_program(name, &error)])?;
    let mut marks = vec![0; marks_needed(&program)];
    let broken = |rule: String| {
        let fault = Diagnostic::error(codes::RULE_BROKEN, format!("`{name}` breaks a rule of its format"));
        vec![fault.note(rule).help(format!("`wsp disasm {name}` prints its text"))]
    };
    Verified::new(program, &mut marks).map_err(|error| broken(error.to_string()))?;
    let mut lifting = Lifting::new(program, used);
    match lifting.module() {
        Ok(()) => Ok(text::print(&lifting.module)),
        Err(NoWorkload { word, what }) => {
            let message = format!("`{name}` has no form as a workload, and so it does not run here");
            let fault = Diagnostic::error(codes::NO_WORKLOAD, message).note(format!("word {word}: {what}"));
            Err(vec![fault.help(format!("`wsp disasm {name}` prints its text"))])
        }
    }
}

/// What a workload cannot say.
#[derive(Debug)]
struct NoWorkload {
    /// The word of a body, or of the expressions.
    word: u32,
    what: String,
}

type Lifted<T> = Result<T, NoWorkload>;

fn refused<T>(word: u32, what: impl Into<String>) -> Lifted<T> {
    Err(NoWorkload { word, what: what.into() })
}

/// A workload while it is read from a program.
struct Lifting<'p> {
    program: Program<'p>,
    module: WorkloadModule,
    /// Names of the module.
    names: OrderedSet<String>,
    /// By row of the table of axes: the axis; none of a range.
    axes: Vec<Option<AxisId>>,
    /// By kernel: what its tasks give it, once there is one.
    signatures: Vec<Option<Vec<ParamKind>>>,
    /// Words of expressions so far, shared ones at each use.
    written: Cell<usize>,
    /// Calls around the statement.
    calls: u32,
}

impl<'p> Lifting<'p> {
    fn new(program: Program<'p>, used: &[String]) -> Lifting<'p> {
        let uses = used.iter().map(|path| Use { path: path.clone(), span: Span::default() });
        Lifting {
            module: WorkloadModule { uses: uses.collect(), ..WorkloadModule::default() },
            names: OrderedSet::new(),
            axes: Vec::new(),
            signatures: vec![None; program.kernels.len()],
            written: Cell::new(0),
            calls: 0,
            program,
        }
    }

    fn module(&mut self) -> Lifted<()> {
        let statements = self.statements(0)?;
        self.tables(&statements)?;
        self.outermost(&statements)?;
        if self.module.uses.is_empty() {
            let kernels = self.module.kernels.iter_mut().zip(&self.signatures);
            kernels
                .for_each(|(kernel, kinds)| kernel.signature = Signature::Declared(params(kinds.as_deref())));
        }
        Ok(())
    }

    /// A name that nothing else of the module has: this one where it can be, else the other or one like it.
    fn name(&mut self, wanted: Option<&str>, otherwise: &str) -> String {
        let wanted = wanted.filter(|name| text::is_name(name) && !self.names.contains(*name));
        let mut name = wanted.unwrap_or(otherwise).to_owned();
        while !self.names.insert(name.clone()) {
            name.push('_');
        }
        name
    }

    /// Notes what a task gives its kernel.
    fn give(&mut self, kernel: KernelId, kinds: Vec<ParamKind>, word: u32) -> Lifted<()> {
        match &self.signatures[kernel.index()] {
            Some(known) if *known != kinds => {
                let name = &self.module.kernels[kernel.index()].name;
                refused(
                    word,
                    format!("a task gives kernel `{name}` arguments of other kinds than one before it"),
                )
            }
            _ => {
                self.signatures[kernel.index()] = Some(kinds);
                Ok(())
            }
        }
    }

    /// The words of an expression from its first one on.
    fn words(&self, first: u32) -> &'p [Word] {
        let rest = self.program.exprs.get(first as usize..).unwrap_or_default();
        let last = rest.iter().position(|word| word.flags & wsp_core::ptow::X_LAST != 0);
        rest.get(..last.map_or(0, |last| last + 1)).unwrap_or_default()
    }
}

/// The parameters of a kernel, by number.
fn params(kinds: Option<&[ParamKind]>) -> Vec<KernelParam> {
    let kinds = kinds.unwrap_or_default().iter().enumerate();
    kinds.map(|(at, kind)| KernelParam { name: format!("p{at}"), kind: *kind }).collect()
}
