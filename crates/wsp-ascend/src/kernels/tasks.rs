//! A kernel that needs both kinds of cores: a task for each part, and a function that runs them one after another.

use super::memories::UB;
use super::scalars::{Number, Scalars};
use super::{
    KernelSource, Source, argument, codes, exchange, name_arrays, one_core, print, scalars, sides, skeleton,
};
use wsp_core::{ExecPool, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::{Module, into_verified};
use wsp_tile::{Buffer, Cores, Legal};

/// The tasks of a kernel whose tiles belong to one kind of core each.
///
/// # Errors
/// A task decides on what others need, or one of them has no text.
pub(super) fn emit(whole: &Source<'_>, legal: &Legal) -> Result<KernelSource, Vec<Diagnostic>> {
    let Source { module, function, known, sources, chip, memories, .. } = *whole;
    let mut more = Module::clone(module);
    let mut tensor = |buffer: &Buffer| {
        let id = TensorId(more.tensors.len() as u32);
        more.tensors.push(exchange::tensor(id, [buffer.rows, buffer.cols], buffer.elem));
        id
    };
    let of = |instruction: &wsp_tile::Instruction| sides::core(&legal.program, instruction) as usize;
    let mut cores = Cores { of: &of, kept: UB, tensor: &mut tensor, code: codes::SEVERAL_TASKS };
    let split = wsp_tile::split(&legal.program, &legal.tiles, memories, &mut cores)?;
    let module = &into_verified(more)?;
    let source = Source { module, ..*whole };
    let locals = legal.program.locals.clone();
    let scalars = Scalars::new(module, function, (known, sources), &locals);
    name_arrays(&legal.program, &scalars);
    let (mut tasks, mut calls, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (number, mut task) in split.tasks.into_iter().enumerate() {
        task.program.name = name_of(&legal.program.name, number);
        let (made, takes) = one_core(&source, task.program, &task.inputs)?;
        takes.tensors.iter().for_each(|id| {
            scalars.tensor(*id);
        });
        let others = takes.numbers.iter().filter(|number| !matches!(number, Number::Local(_)));
        others.for_each(|number| {
            scalars.number(*number);
        });
        let names: Vec<&str> = made.arguments.iter().map(|argument| argument.name.as_str()).collect();
        calls.push(format!("tasks.{}({});", made.name, names.join(", ")));
        notes.extend(made.notes.iter().cloned());
        tasks.push(made);
    }
    let body = print::steps_of_tasks(&legal.program, &split.steps, &calls, &scalars, (chip, memories));
    let lacking = scalars.finish();
    if !lacking.is_empty() {
        return Err(lacking);
    }
    let name = scalars::identifier(&legal.program.name);
    let text = skeleton::tasks_file(&name, chip.name(), &body, &scalars, function.span)?;
    let arguments = argument::of(&legal.program, &scalars);
    let (program, memories) = (legal.program.clone(), memories.clone());
    let unit = ExecPool::Any;
    Ok(KernelSource { name, text, arguments, unit, program, memories, notes, tasks })
}

/// The name of a part of a kernel: that of the kernel with a number behind it, as macros of `math.h` have, too: `M_PI_2`. `M_PI_n2` may be a kernel.
fn name_of(kernel: &str, number: usize) -> String {
    let between = if kernel.starts_with("M_") { "_part" } else { "_" };
    format!("{kernel}{between}{number}")
}
