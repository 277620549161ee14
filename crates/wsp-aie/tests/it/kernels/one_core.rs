//! One core that runs a body: its operands are buffers of the tile, which functions of the host fill before and read after.

use wsp_aie::design::{Buffer, Core, Design};
use wsp_aie::device::{Tile, XDNA2};
use wsp_aie::kernel::{Body, Number, Operand, external};
use wsp_aie::mlir::{Attr, Block, Form, Op, Region, Type, Value, Version, print};
use wsp_aie::run::{Allocation, Call, Machine};
use wsp_diag::Span;

/// Arrays by tensor, as bytes.
pub(crate) struct Array {
    pub(crate) dims: Vec<usize>,
    /// Bytes of an element.
    pub(crate) size: usize,
    pub(crate) bytes: Vec<u8>,
}

/// The design of one core that runs a body once, with the numbers that it is given.
pub(crate) fn design(body: &Body, number: &dyn Fn(Number) -> Option<i64>) -> Design {
    let mut design = Design::new("one", XDNA2);
    let tile = Tile::new(0, 2);
    design.tile(tile);
    let types: Vec<Type> = body.types().cloned().collect();
    let (memories, numbers) = (body.operands.len(), body.numbers.len());
    let (mut values, mut ops) = (Vec::new(), Vec::new());
    for (i, ty) in types.iter().enumerate() {
        let value = design.module.value(format!("b{i}"), ty.clone());
        values.push(value);
        if !(memories..memories + numbers).contains(&i) {
            let name = Some(format!("b{i}"));
            design.buffers.push(Buffer {
                value,
                tile,
                name,
                address: None,
                bank: None,
                span: Span::default(),
            });
            continue;
        }
        let (which, ty) = &body.numbers[i - memories];
        let n = number(*which).unwrap_or_else(|| panic!("{which:?} has no value"));
        let attr = if ty.is_float() { Attr::Float(n as f64, ty.clone()) } else { Attr::Int(n, ty.clone()) };
        ops.push(Op::new("arith.constant").attr("value", attr).result(value));
    }
    let call = |design: &mut Design, word: &str, ops: &mut Vec<Op>, values: &[Value]| {
        for (i, value) in values.iter().take(memories).enumerate() {
            let (call, kernel) = external(&design.module, &format!("{word}{i}"), &[*value]);
            design.kernels.push(kernel);
            ops.push(call);
        }
    };
    call(&mut design, "fill", &mut ops, &values);
    ops.extend(body.inline(&mut design.module, &values));
    call(&mut design, "read", &mut ops, &values);
    ops.push(Op::new("aie.end"));
    let value = design.module.value("core", Type::Index);
    let body = Region { blocks: vec![Block { args: Vec::new(), ops }] };
    design.cores.push(Core { value, tile, stack: None, link_with: None, body, span: Span::default() });
    design
}

/// Elements of a box: places of the array by places of the memory, where the array has them.
fn places(operand: &Operand, array: &Array, number: &dyn Fn(Number) -> Option<i64>) -> Vec<Option<usize>> {
    let origin: Vec<i128> = operand
        .origin
        .iter()
        .map(|sum| {
            let terms = sum
                .terms
                .iter()
                .map(|(of, factor)| i128::from(number(*of).expect("it has a value")) * factor);
            sum.constant + terms.sum::<i128>()
        })
        .collect();
    let shape: Vec<u64> =
        operand.ty.shaped().expect("a memory").shape.iter().map(|n| n.expect("fixed")).collect();
    let place = |mut at: u64| {
        let (mut place, mut stride) = (0, 1);
        for dim in (0..shape.len()).rev() {
            let index = usize::try_from(origin[dim] + i128::from(at % shape[dim])).ok()?;
            at /= shape[dim];
            place += (index < array.dims[dim]).then_some(index * stride)?;
            stride *= array.dims[dim];
        }
        Some(place)
    };
    (0..shape.iter().product()).map(place).collect()
}

/// What lies in the operands of a body at first.
pub(crate) fn given(
    body: &Body,
    arrays: &[Option<Array>],
    number: &dyn Fn(Number) -> Option<i64>,
) -> Vec<Vec<u8>> {
    let one = |operand: &Operand| {
        let array = arrays[operand.tensor.index()].as_ref().expect("an array");
        let mut bytes = vec![0; operand.ty.bytes().expect("a fixed size") as usize];
        for (to, place) in bytes.chunks_exact_mut(array.size).zip(places(operand, array, number)) {
            if let Some(place) = place {
                to.copy_from_slice(&array.bytes[place * array.size..][..array.size]);
            }
        }
        bytes
    };
    body.operands.iter().map(one).collect()
}

/// What lies in the operands of the only core of a design when it has run.
pub(crate) fn left(design: &Design, given: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
    let mut machine = Machine::new(design, Allocation::Declared).map_err(|fault| format!("{fault:?}"))?;
    let mut left = given.to_vec();
    let mut kernels = |name: &str, call: &mut Call<'_>| {
        let (word, at) = name.split_at(4);
        let held = &mut left[at.parse::<usize>().expect("a number")];
        if word == "fill" {
            call.bytes_mut(0).copy_from_slice(held);
        } else {
            held.copy_from_slice(call.bytes(0));
        }
        true
    };
    machine.launch(None, &mut [], &mut kernels).map_err(|fault| format!("{:?}", fault.diagnostic()))?;
    Ok(left)
}

/// The design of a body, from its text.
pub(crate) fn printed(body: &Body, number: &dyn Fn(Number) -> Option<i64>) -> Design {
    let text = print(&design(body, number).module(), Form::Mixed, Version::V2026_03);
    crate::support::design(&text)
}

/// Prints a design, reads the text, and runs it over arrays, by tensor.
pub(crate) fn run(
    body: &Body,
    arrays: &mut [Option<Array>],
    number: &dyn Fn(Number) -> Option<i64>,
) -> Result<(), String> {
    let left = left(&printed(body, number), &given(body, arrays, number))?;
    for (operand, bytes) in body.operands.iter().zip(left).filter(|(operand, _)| operand.writes) {
        let array = arrays[operand.tensor.index()].as_mut().expect("an array");
        for (from, place) in bytes.chunks_exact(array.size).zip(places(operand, array, number)) {
            if let Some(place) = place {
                array.bytes[place * array.size..][..array.size].copy_from_slice(from);
            }
        }
    }
    Ok(())
}
