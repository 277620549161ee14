//! Scratch buffers for instructions, and room for the views that the instruction set wants.

use super::Chip;
use super::codes;
use super::memories::UB;
use super::ops::cube::Turned;
use super::recipe::{Lack, Recipe};
use super::rewrite::add_buffer;
use super::scalars::Scalars;
use super::table;
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_tile::{BufferId, Instruction, Node, TileProgram};

/// What one instruction asks for.
struct Wish {
    scratch: Vec<u64>,
    room: Vec<(BufferId, u64)>,
}

/// Gives every instruction what its calls need.
///
/// # Errors
/// Instructions that have no calls.
pub(super) fn add_scratch(
    program: &mut TileProgram,
    scalars: &Scalars<'_>,
    chip: Chip,
) -> Result<(), Vec<Diagnostic>> {
    let turned = Turned::of(program);
    let (mut wishes, mut found) = (Vec::new(), Vec::new());
    program.instructions(&mut |instruction| match steps(program, scalars, &turned, chip, instruction) {
        Ok(recipe) => wishes.push(Wish {
            scratch: recipe.scratch.iter().map(|shape| shape.bytes()).collect(),
            room: recipe.room.into_iter().collect(),
        }),
        Err(lack) => {
            if let Some(why) = refusal(&lack, instruction, chip, &found) {
                found.push(why);
            }
            wishes.push(Wish { scratch: Vec::new(), room: Vec::new() });
        }
    });
    found.extend(scalars.finish());
    if !found.is_empty() {
        return Err(found);
    }
    let mut body = std::mem::take(&mut program.body);
    give(&mut body, program, &wishes);
    program.body = body;
    Ok(())
}

/// The calls of an instruction.
pub(super) fn steps<'a>(
    program: &'a TileProgram,
    scalars: &'a Scalars<'a>,
    turned: &'a Turned,
    chip: Chip,
    instruction: &Instruction,
) -> Result<Recipe<'a>, Lack> {
    let mut recipe = Recipe::new(program, scalars, turned, chip);
    table::calls(&mut recipe, &instruction.op)?;
    Ok(recipe)
}

fn refusal(lack: &Lack, instruction: &Instruction, chip: Chip, before: &[Diagnostic]) -> Option<Diagnostic> {
    let words = instruction.op.words();
    let found = match lack {
        Lack::Refused(why) => {
            let message = format!("{} has no instructions for `{words}`", chip.name());
            Diagnostic::error(codes::REFUSED, message).at(instruction.span, "").note((*why).to_owned())
        }
        Lack::Elements(elem) => {
            let message = format!("{} has no elements of `{}`", chip.name(), elem.name());
            Diagnostic::error(codes::REFUSED, message)
                .at(instruction.span, "")
                .help("declare its tiles as `float`, `half`, `bfloat16_t` or whole numbers, or run the program on `cpu_sim`")
        }
        Lack::NotYet(what) => {
            let message = format!("{what} is not emitted yet");
            Diagnostic::error(codes::NOT_EMITTED, message)
                .at(instruction.span, format!("`{words}`"))
                .help("use other operations that give the same, or run the program on `cpu_sim`")
        }
    };
    // One statement may be several instructions, and one reason may hold for many.
    let said = |other: &Diagnostic| {
        let same_type = matches!(lack, Lack::Elements(_)) && other.message == found.message;
        same_type || other == &found || (!found.notes.is_empty() && other.notes == found.notes)
    };
    (!before.iter().any(said)).then_some(found)
}

fn give(nodes: &mut [Node], program: &mut TileProgram, wishes: &[Wish]) {
    for node in nodes {
        if let Node::Run(instruction) = node
            && let Some(wish) = wishes.get(instruction.id as usize)
        {
            instruction.scratch = wish
                .scratch
                .iter()
                .map(|bytes| {
                    let name = format!("scratch_{}", instruction.id);
                    let floats = (bytes.div_ceil(4)) as u32;
                    add_buffer(program, &name, DType::F32, [1, floats.max(1)], UB, instruction.span)
                })
                .collect();
            for (id, bytes) in &wish.room {
                let buffer = &mut program.buffers[id.index()];
                buffer.bytes = buffer.bytes.max(bytes.div_ceil(32) * 32);
            }
        }
        node.blocks_mut().for_each(|inner| give(inner, program, wishes));
    }
}
