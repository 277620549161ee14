//! Operations in their own spelling, by the words of their rows.

use super::custom;
use super::parse::{drop_terminators, made, unknown};
use super::read::{Read, Reader};
use super::table::{self, Made, Row, Spelling};
use super::tree::{Attr, Op, Type, Value};
use crate::codes;
use wsp_syntax::Tok;

/// Reads an operation, and the types of what it makes.
pub(super) fn read(reader: &mut Reader<'_>) -> Read<(Op, Vec<Type>)> {
    let at = reader.cursor.span();
    let name = reader.dotted("an operation")?;
    let name = full(&name);
    let Some(row) = table::find(name) else { return unknown(name, at) };
    let mut op = Op::new(row.name);
    let types = match row.spelling {
        Spelling::Words(words) => {
            let mut told = None;
            for word in words.split_ascii_whitespace() {
                self::word(reader, &mut op, word, &mut told)?;
            }
            made(reader, &op, row, told)?
        }
        Spelling::Own(own) => custom::read(reader, &mut op, own, row)?,
    };
    drop_terminators(&mut op, row.left_out());
    Ok((op, types))
}

/// The full name of what is also written shorter.
fn full(name: &str) -> &str {
    match name {
        "module" => "builtin.module",
        "call" => "func.call",
        "return" => "func.return",
        "aiex.runtime_sequence" => "aie.runtime_sequence",
        _ => name,
    }
}

/// Reads what a word of a form stands for.
fn word(reader: &mut Reader<'_>, op: &mut Op, word: &str, told: &mut Option<Type>) -> Read<()> {
    let at = reader.cursor.span();
    match word {
        "%" => op.operands.push(reader.operand()?),
        "%*" => {
            while reader.at(Tok::Percent) {
                op.operands.push(reader.operand()?);
                if !reader.eat(Tok::Comma) {
                    break;
                }
            }
        }
        "{}" => {
            if reader.eat(Tok::LBrace) {
                let attrs = reader.dict()?;
                reader.add_attrs(op, attrs, at)?;
            }
        }
        "<>" => op.regions.push(reader.region(Vec::new())?),
        "[<>]" => {
            reader.take(Tok::LBracket)?;
            op.regions = reader.list(Tok::RBracket, &mut |reader| reader.region(Vec::new()))?;
        }
        "^" => op.successors.push(reader.successor()?),
        "r" => *told = Some(reader.ty()?),
        "tt" => {
            let ty = reader.ty()?;
            let operands = op.operands.clone();
            for value in operands {
                same(reader, op, value, &ty, at)?;
            }
        }
        "t0" | "t1" => {
            let ty = reader.ty()?;
            if let Some(value) = op.operands.get(usize::from(word == "t1")).copied() {
                same(reader, op, value, &ty, at)?;
            }
        }
        "v0" => {
            let value = op.operands.first().copied();
            if let Some(value) = value.filter(|value| matches!(reader.module.ty(*value), Type::Vector(_))) {
                let ty = reader.ty()?;
                same(reader, op, value, &ty, at)?;
                reader.take(Tok::Comma)?;
            }
        }
        _ => attribute(reader, op, word)?,
    }
    Ok(())
}

/// An operand has the type that is written.
fn same(reader: &Reader<'_>, op: &Op, value: Value, ty: &Type, at: wsp_diag::Span) -> Read<()> {
    if reader.module.ty(value) == ty {
        return Ok(());
    }
    let (name, have) = (reader.module.name(value), super::types::text(reader.module.ty(value)));
    reader.fault(codes::ARITY, at, format!("`%{name}` of `{}` has type `{have}`", op.name))
}

/// Reads an attribute, or a sign.
fn attribute(reader: &mut Reader<'_>, op: &mut Op, word: &str) -> Read<()> {
    let (optional, word) = match word.strip_prefix('?') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    if let Some(name) = word.strip_prefix('$') {
        if optional && !reader.eat(Tok::Comma) {
            return Ok(());
        }
        let value = reader.int()?;
        op.set(name, Attr::Int(value, Type::Int(32)));
    } else if let Some(name) = word.strip_prefix('@') {
        let symbol = reader.symbol()?;
        op.set(name, Attr::Symbol(symbol));
    } else if let Some(name) = word.strip_prefix('!') {
        if !optional || reader.at(Tok::At) {
            let symbol = reader.symbol()?;
            op.set(name, Attr::Str(symbol));
        }
    } else if let Some((set, name)) = word.strip_prefix('&').and_then(|rest| rest.split_once(':')) {
        let value = keyword(reader, set)?;
        op.set(name, Attr::Int(value, Type::Int(table::set_bits(set))));
    } else {
        sign(reader, word)?;
    }
    Ok(())
}

/// A word of an enumeration, which may stand between quotes.
pub(super) fn keyword(reader: &mut Reader<'_>, set: &str) -> Read<i64> {
    let at = reader.cursor.span();
    let quoted = reader.cursor.text_of(reader.cursor.token()).trim_matches('"');
    let word = if reader.at(Tok::Str) { quoted } else { reader.cursor.word().unwrap_or("") };
    match table::set(set).iter().find(|(name, _)| *name == word) {
        Some((_, value)) => {
            reader.cursor.bump();
            Ok(*value)
        }
        None => {
            let all: Vec<String> = table::set(set).iter().map(|(name, _)| format!("`{name}`")).collect();
            let fault = reader.cursor.expected(codes::SYNTAX, &format!("one of {}", all.join(", ")));
            Err(Box::new(fault.at(at, format!("found {}", reader.cursor.found()))))
        }
    }
}

fn sign(reader: &mut Reader<'_>, word: &str) -> Read<()> {
    let tok = match word {
        "(" => Tok::LParen,
        ")" => Tok::RParen,
        "[" => Tok::LBracket,
        "]" => Tok::RBracket,
        "<" => Tok::Lt,
        ">" => Tok::Gt,
        "," => Tok::Comma,
        ":" => Tok::Colon,
        "->" => Tok::Arrow,
        _ => return reader.take_word(word),
    };
    reader.take(tok)
}

/// The result that a row of an own spelling makes, by its type.
pub(super) fn told(reader: &Reader<'_>, op: &Op, row: &Row, ty: Type) -> Read<Vec<Type>> {
    if row.made == Made::Nothing { Ok(Vec::new()) } else { made(reader, op, row, Some(ty)) }
}
