//! Operations whose spelling is no line of words, read.

use super::pretty::{keyword, told};
use super::read::{Read, Reader};
use super::table::{Own, Row};
use super::tree::{Attr, Op, Region, Type};
use crate::codes;
use wsp_syntax::Tok;

/// The entry of a transfer that is not known before a run: its value is an operand.
pub(crate) const DYNAMIC: i64 = i64::MIN;

/// Reads an operation behind its name, and the types of what it makes.
pub(super) fn read(reader: &mut Reader<'_>, op: &mut Op, own: Own, row: &Row) -> Read<Vec<Type>> {
    match own {
        Own::Module => module(reader, op)?,
        Own::Fifo => fifo(reader, op)?,
        Own::Link => link(reader, op)?,
        Own::Descriptor => descriptor(reader, op)?,
        Own::Start => return start(reader, op, row),
        Own::Sequence => sequence(reader, op)?,
        Own::Transfer => transfer(reader, op)?,
        Own::Parameter => parameter(reader, op)?,
        Own::Constant => return constant(reader, op, row),
        Own::For => return for_loop(reader, op),
        Own::If => return if_else(reader, op),
        Own::Yield => yields(reader, op)?,
        Own::Func => func(reader, op)?,
        Own::Call => return call(reader, op),
    }
    Ok(Vec::new())
}

/// Makes what two texts say alike one tree.
pub(super) fn settle(op: &mut Op) {
    if op.name == "scf.if" {
        op.regions.resize_with(2, Region::default);
        let is_empty =
            |region: &Region| region.blocks.iter().all(|block| block.ops.is_empty() && block.args.is_empty());
        if is_empty(&op.regions[1]) {
            op.regions[1].blocks.clear();
        }
    }
}

fn module(reader: &mut Reader<'_>, op: &mut Op) -> Read<()> {
    if reader.at(Tok::At) {
        let name = reader.symbol()?;
        op.set("sym_name", Attr::Str(name));
    }
    words(reader, op, "attributes")?;
    op.regions.push(reader.region(Vec::new())?);
    Ok(())
}

/// `{…}`, behind a word where one is given.
fn words(reader: &mut Reader<'_>, op: &mut Op, word: &str) -> Read<()> {
    let at = reader.cursor.span();
    let follows = if word.is_empty() { reader.at(Tok::LBrace) } else { reader.cursor.eat_word(word) };
    if follows {
        reader.take(Tok::LBrace)?;
        let attrs = reader.dict()?;
        reader.add_attrs(op, attrs, at)?;
    }
    Ok(())
}

/// `@name(%producer dimensionsToStream […], {%consumer dimensionsFromStream […]}, depth) {…} : type = […]`
fn fifo(reader: &mut Reader<'_>, op: &mut Op) -> Read<()> {
    let name = reader.symbol()?;
    op.set("sym_name", Attr::Str(name));
    reader.take(Tok::LParen)?;
    op.operands.push(reader.operand()?);
    let to = if reader.cursor.eat_word("dimensionsToStream") { reader.dims()? } else { Vec::new() };
    op.set("dimensionsToStream", Attr::Dims(to));
    reader.take(Tok::Comma)?;
    reader.take(Tok::LBrace)?;
    let consumers = reader.list(Tok::RBrace, &mut |reader| {
        let value = reader.operand()?;
        let from = if reader.cursor.eat_word("dimensionsFromStream") { reader.dims()? } else { Vec::new() };
        Ok((value, from))
    })?;
    reader.take(Tok::Comma)?;
    op.operands.extend(consumers.iter().map(|(value, _)| *value));
    op.set(
        "dimensionsFromStreamPerConsumer",
        Attr::DimsPer(consumers.into_iter().map(|(_, from)| from).collect()),
    );
    let depth = match reader.attr()? {
        Attr::Int(depth, _) => Attr::Int(depth, Type::Int(32)),
        Attr::Array(depths) => Attr::Array(depths.into_iter().map(short).collect()),
        _ => return reader.expected("a depth such as `2 : i32`"),
    };
    op.set("elemNumber", depth);
    reader.take(Tok::RParen)?;
    words(reader, op, "")?;
    reader.take(Tok::Colon)?;
    let ty = reader.ty()?;
    op.set("elemType", Attr::Type(ty));
    if reader.eat(Tok::Eq) {
        let values = reader.attr()?;
        op.set("initValues", values);
    }
    Ok(())
}

/// An integer as one of 32 bits.
fn short(attr: Attr) -> Attr {
    match attr {
        Attr::Int(value, _) => Attr::Int(value, Type::Int(32)),
        other => other,
    }
}

/// `[@ins] -> [@outs]([source offsets] [destination offsets])`
fn link(reader: &mut Reader<'_>, op: &mut Op) -> Read<()> {
    let symbols = |reader: &mut Reader<'_>| {
        reader.take(Tok::LBracket)?;
        reader.list(Tok::RBracket, &mut |reader| Ok(Attr::Symbol(reader.symbol()?)))
    };
    let ins = symbols(reader)?;
    op.set("fifoIns", Attr::Array(ins));
    reader.take(Tok::Arrow)?;
    let outs = symbols(reader)?;
    op.set("fifoOuts", Attr::Array(outs));
    reader.take(Tok::LParen)?;
    for name in ["src_offsets", "dst_offsets"] {
        let offsets = if reader.eat(Tok::LBracket) {
            reader.list(Tok::RBracket, &mut |reader| Ok(Attr::Int(reader.int()?, Type::Int(64))))?
        } else {
            Vec::new()
        };
        op.set(name, Attr::Array(offsets));
    }
    reader.take(Tok::RParen)
}

/// `(%buffer : type, offset, length, [<size = 4, stride = 1>])`, or with `offset =`, `len =`, `sizes =` and `strides =`.
fn descriptor(reader: &mut Reader<'_>, op: &mut Op) -> Read<()> {
    reader.take(Tok::LParen)?;
    op.operands.push(reader.operand()?);
    reader.take(Tok::Colon)?;
    let at = reader.cursor.span();
    let ty = reader.ty()?;
    if op.operands.first().is_some_and(|value| *reader.module.ty(*value) != ty) {
        return reader.fault(codes::ARITY, at, "the buffer has another type");
    }
    if reader.at(Tok::Comma) {
        for name in ["offset", "len"] {
            if reader.eat(Tok::Comma) {
                let value = reader.int()?;
                op.set(name, Attr::Int(value, Type::Int(32)));
            }
        }
        if reader.eat(Tok::Comma) {
            let dims = reader.dims()?;
            op.set("dimensions", Attr::Dims(dims));
        }
    } else {
        named_descriptor(reader, op)?;
    }
    reader.take(Tok::RParen)?;
    words(reader, op, "")
}

/// `offset = 0 len = 64 sizes = […] strides = […]`
fn named_descriptor(reader: &mut Reader<'_>, op: &mut Op) -> Read<()> {
    for name in ["offset", "len"] {
        if reader.cursor.eat_word(name) {
            reader.take(Tok::Eq)?;
            let value = reader.int()?;
            op.set(name, Attr::Int(value, Type::Int(32)));
        }
    }
    if reader.cursor.eat_word("sizes") {
        let at = reader.cursor.span();
        let mut lists = Vec::new();
        for name in ["", "strides"] {
            if !name.is_empty() {
                reader.take_word(name)?;
            }
            reader.take(Tok::Eq)?;
            reader.take(Tok::LBracket)?;
            lists.push(reader.list(Tok::RBracket, &mut Reader::unsigned)?);
        }
        let (sizes, strides) = (&lists[0], &lists[1]);
        if sizes.len() != strides.len() {
            let message = format!("{} sizes and {} strides", sizes.len(), strides.len());
            return reader.fault(codes::ARITY, at, message);
        }
        let dims =
            sizes.iter().zip(strides).map(|(size, stride)| super::tree::Dim { size: *size, stride: *stride });
        op.set("dimensions", Attr::Dims(dims.collect()));
    }
    Ok(())
}

/// `(S2MM, 0, ^first, ^rest, repeat_count = 2)`
fn start(reader: &mut Reader<'_>, op: &mut Op, row: &Row) -> Read<Vec<Type>> {
    reader.take(Tok::LParen)?;
    let direction = keyword(reader, "direction")?;
    op.set("channel_dir", Attr::Int(direction, Type::Int(32)));
    reader.take(Tok::Comma)?;
    let channel = reader.int()?;
    op.set("channel_index", Attr::Int(channel, Type::Int(32)));
    for _ in 0..2 {
        reader.take(Tok::Comma)?;
        op.successors.push(reader.successor()?);
    }
    if reader.eat(Tok::Comma) {
        reader.take_word("repeat_count")?;
        reader.take(Tok::Eq)?;
        let count = reader.int()?;
        op.set("repeat_count", Attr::Int(count, Type::Int(32)));
    }
    reader.take(Tok::RParen)?;
    told(reader, op, row, Type::Int(1))
}

/// `@name(%a: type) { … }`
fn sequence(reader: &mut Reader<'_>, op: &mut Op) -> Read<()> {
    if reader.at(Tok::At) {
        let name = reader.symbol()?;
        op.set("sym_name", Attr::Str(name));
    }
    reader.take(Tok::LParen)?;
    let args = reader.list(Tok::RParen, &mut Reader::typed_name)?;
    op.regions.push(reader.region(args)?);
    Ok(())
}

/// `(%a[offsets][sizes][strides], packet = <…>) {…} : type`
fn transfer(reader: &mut Reader<'_>, op: &mut Op) -> Read<()> {
    reader.take(Tok::LParen)?;
    op.operands.push(reader.operand()?);
    let mut segments = vec![1];
    for name in ["static_offsets", "static_sizes", "static_strides"] {
        reader.take(Tok::LBracket)?;
        let before = op.operands.len();
        let mut given = Vec::new();
        let entries = reader.list(Tok::RBracket, &mut |reader| {
            if !reader.at(Tok::Percent) {
                return reader.int();
            }
            given.push(reader.operand()?);
            Ok(DYNAMIC)
        })?;
        op.operands.extend(given);
        segments.push((op.operands.len() - before) as i64);
        op.set(name, Attr::Dense(Type::Int(64), entries));
    }
    op.set("operandSegmentSizes", Attr::Dense(Type::Int(32), segments));
    if reader.eat(Tok::Comma) {
        reader.take_word("packet")?;
        reader.take(Tok::Eq)?;
        if !reader.at(Tok::Lt) {
            return reader.expected("`<`");
        }
        let packet = reader.angled()?;
        op.set("packet", Attr::Raw(format!("#aie.packet_info{packet}")));
    }
    reader.take(Tok::RParen)?;
    words(reader, op, "")?;
    reader.take(Tok::Colon)?;
    let at = reader.cursor.span();
    let ty = reader.ty()?;
    if op.operands.first().is_some_and(|value| *reader.module.ty(*value) != ty) {
        return reader.fault(codes::ARITY, at, "the array has another type");
    }
    Ok(())
}

/// `(@buffer, 0, 50)`, or with a value `(@buffer, 0, %v) : i32`
fn parameter(reader: &mut Reader<'_>, op: &mut Op) -> Read<()> {
    reader.take(Tok::LParen)?;
    let buffer = reader.symbol()?;
    op.set("buffer", Attr::Symbol(buffer));
    reader.take(Tok::Comma)?;
    let index = reader.int()?;
    if reader.eat(Tok::Colon) {
        reader.take_word("ui32")?;
    }
    op.set("index", Attr::Int(index, Type::Unsigned(32)));
    reader.take(Tok::Comma)?;
    if !reader.at(Tok::Percent) {
        let value = reader.int()?;
        op.set("value", Attr::Int(value, Type::Int(32)));
        return reader.take(Tok::RParen);
    }
    op.operands.push(reader.operand()?);
    reader.take(Tok::RParen)?;
    reader.take(Tok::Colon)?;
    let at = reader.cursor.span();
    let ty = reader.ty()?;
    if op.operands.first().is_some_and(|value| *reader.module.ty(*value) != ty) {
        return reader.fault(codes::ARITY, at, "the value has another type");
    }
    Ok(())
}

fn constant(reader: &mut Reader<'_>, op: &mut Op, row: &Row) -> Read<Vec<Type>> {
    let value = reader.attr()?;
    let ty = match &value {
        Attr::Bool(_) => Type::Int(1),
        Attr::Int(_, ty) | Attr::Float(_, ty) | Attr::Elements(_, ty) => ty.clone(),
        _ => return reader.expected("a number"),
    };
    op.set("value", value);
    told(reader, op, row, ty)
}

/// `%i = %low to %high step %step iter_args(%a = %first) -> (types) { … }`
fn for_loop(reader: &mut Reader<'_>, op: &mut Op) -> Read<Vec<Type>> {
    let at = reader.cursor.span();
    let name = reader.sigil(Tok::Percent, "the variable of the loop")?;
    let at = reader.cursor.span_from(at);
    reader.take(Tok::Eq)?;
    op.operands.push(reader.operand()?);
    reader.take_word("to")?;
    op.operands.push(reader.operand()?);
    reader.take_word("step")?;
    op.operands.push(reader.operand()?);
    let mut args = vec![(name, reader.module.ty(op.operands[0]).clone(), at)];
    let mut types = Vec::new();
    if reader.cursor.eat_word("iter_args") {
        reader.take(Tok::LParen)?;
        let carried = reader.list(Tok::RParen, &mut |reader| {
            let at = reader.cursor.span();
            let name = reader.sigil(Tok::Percent, "a value that the loop carries")?;
            let at = reader.cursor.span_from(at);
            reader.take(Tok::Eq)?;
            Ok((name, reader.operand()?, at))
        })?;
        reader.take(Tok::Arrow)?;
        types = reader.types_behind_arrow()?;
        if types.len() != carried.len() {
            let message = format!("{} values are carried, with {} types", carried.len(), types.len());
            return reader.fault(codes::ARITY, at, message);
        }
        for ((name, value, at), ty) in carried.into_iter().zip(&types) {
            op.operands.push(value);
            args.push((name, ty.clone(), at));
        }
    }
    if reader.eat(Tok::Colon) {
        args[0].1 = reader.ty()?;
    }
    op.regions.push(reader.region(args)?);
    Ok(types)
}

/// `%condition -> (types) { … } else { … }`
fn if_else(reader: &mut Reader<'_>, op: &mut Op) -> Read<Vec<Type>> {
    op.operands.push(reader.operand()?);
    let types = if reader.eat(Tok::Arrow) { reader.types_behind_arrow()? } else { Vec::new() };
    op.regions.push(reader.region(Vec::new())?);
    if reader.cursor.eat_word("else") {
        op.regions.push(reader.region(Vec::new())?);
    }
    super::parse::drop_terminators(op, Some("scf.yield"));
    settle(op);
    Ok(types)
}

/// `%a, %b : type, type`
fn yields(reader: &mut Reader<'_>, op: &mut Op) -> Read<()> {
    if !reader.at(Tok::Percent) {
        return Ok(());
    }
    loop {
        op.operands.push(reader.operand()?);
        if !reader.eat(Tok::Comma) {
            break;
        }
    }
    reader.take(Tok::Colon)?;
    for i in 0..op.operands.len() {
        let at = reader.cursor.span();
        if i > 0 {
            reader.take(Tok::Comma)?;
        }
        if reader.ty()? != *reader.module.ty(op.operands[i]) {
            return reader.fault(codes::ARITY, at, "the value has another type");
        }
    }
    Ok(())
}

/// `private @name(types) -> types`, or with values and a body.
fn func(reader: &mut Reader<'_>, op: &mut Op) -> Read<()> {
    if reader.cursor.eat_word("private") {
        op.set("sym_visibility", Attr::Str("private".to_owned()));
    }
    let name = reader.symbol()?;
    op.set("sym_name", Attr::Str(name));
    reader.take(Tok::LParen)?;
    let mut args = Vec::new();
    let inputs = reader.list(Tok::RParen, &mut |reader| {
        if !reader.at(Tok::Percent) {
            return reader.ty();
        }
        let arg = reader.typed_name()?;
        args.push(arg.clone());
        Ok(arg.1)
    })?;
    if !args.is_empty() && args.len() != inputs.len() {
        return reader.fault(
            codes::SYNTAX,
            reader.cursor.last_span(),
            "some arguments have names, and some have none",
        );
    }
    let outputs = if reader.eat(Tok::Arrow) { reader.types_behind_arrow()? } else { Vec::new() };
    op.set("function_type", Attr::Type(Type::Function(inputs, outputs)));
    words(reader, op, "attributes")?;
    let region = if reader.at(Tok::LBrace) { reader.region(args)? } else { Region::default() };
    op.regions.push(region);
    Ok(())
}

/// `@name(%a) : (types) -> types`
fn call(reader: &mut Reader<'_>, op: &mut Op) -> Read<Vec<Type>> {
    let name = reader.symbol()?;
    op.set("callee", Attr::Symbol(name));
    reader.take(Tok::LParen)?;
    op.operands = reader.list(Tok::RParen, &mut Reader::operand)?;
    reader.take(Tok::Colon)?;
    let at = reader.cursor.span();
    let Type::Function(inputs, outputs) = reader.ty()? else {
        return reader.expected("the types of the call, `(…) -> (…)`");
    };
    let have = op.operands.iter().map(|value| reader.module.ty(*value));
    if inputs.len() != op.operands.len() || have.zip(&inputs).any(|(have, given)| have != given) {
        return reader.fault(codes::ARITY, at, "these are not the types of the arguments");
    }
    Ok(outputs)
}
