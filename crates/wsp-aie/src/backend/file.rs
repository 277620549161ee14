//! A design that a file holds: read, checked, and run with arrays by the names of a sequence's arguments.

use super::run::no_memory;
use crate::codes;
use crate::design::{Design, Sequence, Step, steps};
use crate::device::Direction;
use crate::mlir::{Type, Value, parse, text_of};
use crate::run::{Arg, Counts, Failure, run_both};
use std::collections::BTreeSet;
use wsp_backend::{Args, RunError};
use wsp_core::DType;
use wsp_diag::{Diagnostic, Diagnostics, FileId, did_you_mean};
use wsp_memory::Array;
use wsp_plan::{Arrays, ParamValue};

/// A design that a file holds, without errors.
#[derive(Clone, Debug)]
pub struct DesignFile {
    design: Design,
    notes: Vec<Diagnostic>,
}

/// An argument of a sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DesignArg {
    /// Its name, without `%`.
    pub name: String,
    /// The type of its elements and its extents; none of a number.
    pub array: Option<(DType, Vec<u64>)>,
    /// The least and the greatest value of a number; none of an array.
    pub integers: Option<(i64, i64)>,
    /// The sequence reads it. A number is always read.
    pub read: bool,
    /// It writes it.
    pub written: bool,
}

/// What a run of a design gave.
#[derive(Debug)]
pub struct DesignRun {
    /// The arrays that the sequence writes.
    pub outputs: Arrays,
    /// What the run did.
    pub counts: Counts,
    /// Fifos without whose extra buffers the design hangs.
    pub notes: Vec<Diagnostic>,
}

impl DesignFile {
    /// Reads the text of a design.
    ///
    /// # Errors
    /// It is none, has several devices, breaks a rule of designs, or has a sequence whose arguments no launch gives.
    pub fn read(file: FileId, text: &str) -> Result<DesignFile, Diagnostics> {
        let mut designs = Design::read(&parse(file, text)?)?;
        let design = designs.remove(0);
        if let Some(other) = designs.first() {
            let message = format!(
                "the file has {} devices, `@{}` and `@{}` among them, and one design is taken",
                designs.len() + 1,
                design.name,
                other.name
            );
            return Err(Diagnostic::error(codes::DEVICE, message)
                .help("give each `aie.device` a file")
                .into());
        }
        let (faults, notes): (Vec<Diagnostic>, Vec<Diagnostic>) =
            crate::check(&design).into_iter().partition(Diagnostic::is_error);
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let file = DesignFile { design, notes };
        let faults = file.design.sequences.iter().filter_map(|of| file.args(&of.name).err());
        let faults: Vec<Diagnostic> = faults.collect();
        if faults.is_empty() { Ok(file) } else { Err(faults.into()) }
    }

    /// What was found beside errors.
    pub fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    /// What it is, for people: the array with cores and fifos, and a line for each sequence.
    pub fn lines(&self) -> Vec<String> {
        let Design { device, cores, fifos, .. } = &self.design;
        let first = format!("{}: {} cores, {} fifos", device.name, cores.len(), fifos.len());
        let one = |sequence: &Sequence| format!("sequence {}", self.signature(sequence));
        std::iter::once(first).chain(self.design.sequences.iter().map(one)).collect()
    }

    /// `@name(x: memref<64xf32>)`
    fn signature(&self, sequence: &Sequence) -> String {
        let module = &self.design.module;
        let arg = |value: &Value| format!("{}: {}", module.name(*value), text_of(module.ty(*value)));
        let args: Vec<String> = sequence.args.iter().map(arg).collect();
        format!("@{}({})", sequence.name, args.join(", "))
    }

    /// The sequence whose arguments have all of these names.
    ///
    /// # Errors
    /// None has, or several have.
    pub fn sequence(&self, given: &[&str]) -> Result<&str, Diagnostic> {
        let module = &self.design.module;
        let takes =
            |sequence: &Sequence, name: &str| sequence.args.iter().any(|arg| module.name(*arg) == name);
        let all = self.design.sequences.iter();
        let fit: Vec<&Sequence> =
            all.clone().filter(|sequence| given.iter().all(|name| takes(sequence, name))).collect();
        let unknown = given.iter().find(|name| !all.clone().any(|sequence| takes(sequence, name)));
        let message = match fit.as_slice() {
            [one] => return Ok(&one.name),
            [] if self.design.sequences.is_empty() => {
                "the design has no sequence, and so nothing to run".to_owned()
            }
            [] => match unknown {
                Some(name) => format!("no sequence of the design has an argument `{name}`"),
                None => format!("no sequence of the design has all of the arguments {}", given.join(", ")),
            },
            several => format!("{} sequences of the design have the arguments that are given", several.len()),
        };
        let fault = Diagnostic::error(codes::LAUNCH, message);
        if self.design.sequences.is_empty() {
            return Err(fault.help("`aie.runtime_sequence` says what a launch moves"));
        }
        let listed = self.design.sequences.iter().map(|sequence| self.signature(sequence));
        let fault = listed.take(8).fold(fault, |fault, line| fault.note(format!("it has {line}")));
        let names = || all.clone().flat_map(|sequence| &sequence.args).map(|arg| module.name(*arg));
        Err(match unknown.map(|name| (name, did_you_mean(name, names()))) {
            Some((_, Some(near))) => fault.help(format!("did you mean `{near}`?")),
            Some((name, None)) => fault.help(format!(
                "leave out `{name}`, or give one of these arguments: an array with `--input NAME=FILE.npy`, a number with `--set NAME=N`"
            )),
            None => fault.help(match self.within(&fit) {
                Some((less, more)) => format!(
                    "all arguments of `@{}` are names of arguments of `@{}` too: give those of one of them other names in the file, by which it is chosen",
                    less.name, more.name
                ),
                None => "give arrays by the names of one sequence's arguments: `--input NAME=FILE.npy`".to_owned(),
            }),
        })
    }

    /// A sequence whose arguments all have names that another one's have too.
    fn within<'s>(&self, fit: &[&'s Sequence]) -> Option<(&'s Sequence, &'s Sequence)> {
        let names = |sequence: &Sequence| -> BTreeSet<&str> {
            sequence.args.iter().map(|arg| self.design.module.name(*arg)).collect()
        };
        let pairs = fit.iter().flat_map(|less| fit.iter().map(move |more| (*less, *more)));
        pairs
            .into_iter()
            .find(|(less, more)| !std::ptr::eq(*less, *more) && names(less).is_subset(&names(more)))
    }

    /// The arguments of a sequence.
    ///
    /// # Errors
    /// It is not there; types that no array has.
    pub fn args(&self, sequence: &str) -> Result<Vec<DesignArg>, Diagnostic> {
        let Some(of) = self.design.sequences.iter().find(|of| of.name == sequence) else {
            return Err(Diagnostic::error(codes::LAUNCH, format!("the design has no sequence `{sequence}`")));
        };
        let mut args = Vec::new();
        for value in &of.args {
            let (name, ty) = (self.design.module.name(*value).to_owned(), self.design.module.ty(*value));
            let array = match ty.shaped() {
                None => None,
                Some(shaped) => {
                    let shape: Option<Vec<u64>> = shaped.shape.iter().copied().collect();
                    match dtype(&shaped.element).zip(shape) {
                        Some(array) => Some(array),
                        None => {
                            let message = format!("no array is a `{}`, which `{name}` is", text_of(ty));
                            return Err(Diagnostic::error(codes::LAUNCH, message).at(of.span, ""));
                        }
                    }
                }
            };
            let integers = if array.is_none() { of.bounds(*value, ty) } else { None };
            if array.is_none() && integers.is_none() {
                let message =
                    format!("`{name}` is `{}`, and a launch gives arrays and integers", text_of(ty));
                return Err(Diagnostic::error(codes::LAUNCH, message)
                    .at(of.span, "")
                    .help("declare the argument as an integer, such as `i32`"));
            }
            args.push(DesignArg { name, read: array.is_none(), written: false, array, integers });
        }
        let mut see = |step: &Step| {
            let Step::Move(transfer) = step else { return };
            let Some(at) = of.args.iter().position(|value| *value == transfer.array) else { return };
            match self.design.direction_of(transfer) {
                Some(Direction::S2mm) => args[at].written = true,
                _ => args[at].read = true,
            }
        };
        steps(of)?.iter().for_each(|step| step.walk(&mut see));
        Ok(args)
    }

    /// Runs a sequence, with fifos as deep as they are declared and as upstream's lowering makes them.
    ///
    /// # Errors
    /// Arguments that are missing or do not fit; a fault of the design, or that it hangs.
    pub fn run(&self, sequence: &str, given: &Args) -> Result<DesignRun, RunError> {
        let refused = |fault: Diagnostic| RunError::Refused(fault.into());
        let args = self.args(sequence).map_err(refused)?;
        let mut values =
            args.iter().map(|arg| value(arg, given)).collect::<Result<Vec<Arg>, _>>().map_err(refused)?;
        let ran = run_both(&self.design, Some(sequence), &mut values, &mut |_, _| false, None);
        let (counts, notes) = ran.map_err(|failure| match failure {
            Failure::Fault(fault) => RunError::Failed(fault.into()),
            Failure::Deadlock(stuck) => RunError::Stuck(stuck.diagnostic().into()),
            Failure::Cancelled => RunError::Cancelled(failure.diagnostic().into()),
        })?;
        let mut outputs = Arrays::new();
        for (arg, value) in args.iter().zip(values).filter(|(arg, _)| arg.written) {
            let (Arg::Array(bytes), Some((dtype, shape))) = (value, &arg.array) else { continue };
            let (dtype, shape) = match given.arrays.get(&arg.name) {
                Some(given) => (given.dtype(), given.shape()),
                None => (*dtype, shape.as_slice()),
            };
            let mut made = Array::zeros(dtype, shape)
                .map_err(|fault| RunError::Failed(no_memory(&arg.name, &fault).into()))?;
            made.bytes_mut().copy_from_slice(&bytes);
            outputs.insert(arg.name.clone(), made);
        }
        let notes = notes.into_iter().filter(|found| !self.notes.contains(found)).collect();
        Ok(DesignRun { outputs, counts, notes })
    }
}

/// Elements of arrays for a type; integers have no sign there.
fn dtype(ty: &Type) -> Option<DType> {
    Some(match ty {
        Type::F32 => DType::F32,
        Type::F64 => DType::F64,
        Type::F16 => DType::F16,
        Type::Bf16 => DType::Bf16,
        Type::Int(8) => DType::I8,
        Type::Int(16) => DType::I16,
        Type::Int(32) => DType::I32,
        Type::Int(64) => DType::I64,
        Type::Unsigned(8) => DType::U8,
        Type::Unsigned(16) => DType::U16,
        Type::Unsigned(32) => DType::U32,
        Type::Unsigned(64) => DType::U64,
        _ => return None,
    })
}

/// Whether an array of this type may stand for one of another: integers of as many bits do, and the bits of short floats.
fn stands_for(given: DType, wanted: DType) -> bool {
    let is_integer = |of: DType| !of.is_float() && of != DType::Bool;
    let is_bits = given == DType::U16 && matches!(wanted, DType::F16 | DType::Bf16);
    given == wanted || is_bits || given.size() == wanted.size() && is_integer(given) && is_integer(wanted)
}

fn shown(value: &ParamValue) -> String {
    match value {
        ParamValue::Int(value) => value.to_string(),
        ParamValue::Float(value) => value.to_string(),
        ParamValue::Bool(value) => value.to_string(),
    }
}

/// The value of an argument.
fn value(arg: &DesignArg, given: &Args) -> Result<Arg, Diagnostic> {
    let name = &arg.name;
    let Some((dtype, shape)) = &arg.array else {
        let of_this = given.values.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value);
        let (least, most) = arg.integers.unwrap_or((i64::MIN, i64::MAX));
        let message = match of_this {
            Some(ParamValue::Int(value)) => match i64::try_from(value) {
                Ok(value) if (least..=most).contains(&value) => return Ok(Arg::Number(value)),
                _ => format!("`{name}` is {value}, and the sequence takes {least} to {most}"),
            },
            Some(other) => {
                format!("`{name}` is {}, and the sequence takes an integer, {least} to {most}", shown(&other))
            }
            None => format!("number `{name}` of the sequence is not given"),
        };
        return Err(Diagnostic::error(codes::LAUNCH, message)
            .help(format!("write `--set {name}=N`, with N from {least} to {most}")));
    };
    if given.values.iter().any(|(known, _)| known == name) {
        let message = format!("`{name}` is an array of the sequence, and is given as a number");
        return Err(Diagnostic::error(codes::LAUNCH, message)
            .help(format!("write `--input {name}=FILE.npy` instead of `--set {name}=…`")));
    }
    let elements = shape.iter().try_fold(1u64, |all, extent| all.checked_mul(*extent));
    match given.arrays.get(name) {
        Some(array) if Some(array.len() as u64) == elements && stands_for(array.dtype(), *dtype) => {
            Ok(Arg::Array(array.bytes().to_vec()))
        }
        Some(array) => {
            let message = format!(
                "`{name}` has {} elements of {}, extents {:?}, and the sequence takes {} of {}",
                array.len(),
                array.dtype(),
                array.shape(),
                elements.unwrap_or(u64::MAX),
                dtype
            );
            Err(Diagnostic::error(codes::LAUNCH, message)
                .help(format!("give an array of as many elements of {dtype}, of any extents")))
        }
        None if arg.read => {
            Err(Diagnostic::error(codes::LAUNCH, format!("array `{name}` of the sequence is not given"))
                .note("the sequence reads it")
                .help(format!("write `--input {name}=FILE.npy`")))
        }
        None => {
            let made = Array::zeros(*dtype, shape).map_err(|fault| no_memory(name, &fault))?;
            Ok(Arg::Array(made.bytes().to_vec()))
        }
    }
}
