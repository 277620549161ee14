//! What operands of each type look like.

use super::numbers::Role;
use super::{Parsed, Parser};
use crate::tg::text::codes;
use crate::tg::text::tokens::{Sign, Tok};
use wsp_core::tg::*;
use wsp_core::words::a;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::tg::Namespace;

/// A type of operands that can be read.
pub(super) trait Operand: OperandType {
    /// Reads one.
    fn read(parser: &mut Parser<'_>, role: Role) -> Parsed<Self>;
}

macro_rules! numbers {
    ($($ty:ident: $space:ident),*) => {$(
        impl Operand for $ty {
            #[inline]
            fn read(parser: &mut Parser<'_>, role: Role) -> Parsed<Self> {
                Ok($ty(parser.number(Namespace::$space, role)?))
            }
        }
    )*};
}

numbers! {
    GraphNo: Graph, KernelNo: Kernel, TensorNo: Tensor, EventNo: Event, BarrierNo: Barrier, NotifyNo: Notify,
    DeviceNo: Device, PartitionNo: Partition, IterNo: Iter, StreamNo: Stream, CheckpointNo: Checkpoint
}

impl Operand for NodeNo {
    fn read(parser: &mut Parser<'_>, role: Role) -> Parsed<Self> {
        let start = parser.token.start;
        if let Tok::Ident(ident) = parser.token.tok
            && ident.word() == "copy"
            && parser.tokens.dot_follows()
        {
            let place = parser.dotted()?;
            return match place < NodeNo::COPY {
                true => Ok(NodeNo(NodeNo::COPY | place)),
                false => {
                    let most = i128::from(NodeNo::COPY - 1);
                    Err(parser.out_of_range(
                        parser.since(start),
                        place.into(),
                        "the number of a copy",
                        0,
                        most,
                    ))
                }
            };
        }
        let number = parser.number(Namespace::Kernel, role)?;
        match NodeNo(number).kernel() {
            Some(_) => Ok(NodeNo(number)),
            None => {
                let most = i128::from(NodeNo::COPY - 1);
                Err(parser.out_of_range(
                    parser.since(start),
                    number.into(),
                    "a kernel of a dependence",
                    0,
                    most,
                ))
            }
        }
    }
}

impl Operand for Symbol {
    #[inline]
    fn read(parser: &mut Parser<'_>, _: Role) -> Parsed<Self> {
        match parser.token.tok {
            Tok::Ident(ident) => {
                parser.bump();
                Ok(parser.symbol(ident))
            }
            Tok::Str => {
                let text = parser.string();
                Ok(parser.unit.strings.intern(&text))
            }
            _ => Err(parser.expected("the entry symbol of a kernel")),
        }
    }
}

impl Operand for KernelSet {
    fn read(parser: &mut Parser<'_>, role: Role) -> Parsed<Self> {
        let first = parser.unit.sets.kernels.len() as u32;
        parser.braces("a set of kernels, as `{A, B}`", |parser| {
            let kernel = KernelNo::read(parser, role)?;
            parser.unit.sets.kernels.push(kernel);
            Ok(())
        })?;
        Ok(KernelSet { first, len: parser.unit.sets.kernels.len() as u32 - first })
    }
}

impl Operand for TensorRef {
    #[inline]
    fn read(parser: &mut Parser<'_>, role: Role) -> Parsed<Self> {
        if !parser.is(Sign::LBrace) {
            return Ok(TensorRef::Tensor(TensorNo::read(parser, role)?));
        }
        let first = parser.unit.sets.tensors.len() as u32;
        parser.braces("tensors, as `{PING, PONG}[i % 2]`", |parser| {
            let tensor = TensorNo::read(parser, role)?;
            parser.unit.sets.tensors.push(tensor);
            Ok(())
        })?;
        let len = parser.unit.sets.tensors.len() as u32 - first;
        parser.need(Sign::LBracket)?;
        parser.expression()?;
        let index = parser.store_expression();
        parser.need(Sign::RBracket)?;
        Ok(TensorRef::Table { first, len, index })
    }
}

impl Operand for Scalar {
    #[inline]
    fn read(parser: &mut Parser<'_>, _: Role) -> Parsed<Self> {
        parser.scalar()
    }
}

impl Operand for u32 {
    #[inline]
    fn read(parser: &mut Parser<'_>, _: Role) -> Parsed<Self> {
        let start = parser.token.start;
        let value = parser.constant()?;
        u32::try_from(value).map_err(|_| {
            parser.out_of_range(parser.since(start), value.into(), "32 bits without sign", 0, u32::MAX.into())
        })
    }
}

impl Operand for u64 {
    #[inline]
    fn read(parser: &mut Parser<'_>, _: Role) -> Parsed<Self> {
        let start = parser.token.start;
        if let Tok::Number(value) = parser.token.tok
            && value > i64::MAX as u64
        {
            parser.bump();
            return Ok(value);
        }
        let value = parser.constant()?;
        u64::try_from(value).map_err(|_| {
            parser.out_of_range(parser.since(start), value.into(), "64 bits without sign", 0, u64::MAX.into())
        })
    }
}

impl Operand for i8 {
    fn read(parser: &mut Parser<'_>, _: Role) -> Parsed<Self> {
        let start = parser.token.start;
        let value = parser.constant()?;
        i8::try_from(value).map_err(|_| {
            parser.out_of_range(
                parser.since(start),
                value.into(),
                "a priority",
                i8::MIN.into(),
                i8::MAX.into(),
            )
        })
    }
}

macro_rules! choices {
    ($($ty:ident $noun:literal),*) => {$(
        impl Operand for $ty {
            #[inline]
            fn read(parser: &mut Parser<'_>, _: Role) -> Parsed<Self> {
                parser.choice($noun, $ty::ALL)
            }
        }
    )*};
}

choices! {
    CoreType "type of cores", DependencyType "type of dependence", MemLocation "location", FenceScope "scope",
    AffinityType "affinity", LoopMode "mode of a loop", Direction "direction"
}

impl Parser<'_> {
    #[inline]
    fn choice<T: Copy>(&mut self, noun: &str, all: &[(T, &str, &str)]) -> Parsed<T> {
        let Tok::Ident(ident) = self.token.tok else { return Err(self.expected(&a(noun).to_string())) };
        let text = self.tokens.idents.row(ident).text;
        match all.iter().find(|(_, name, _)| *name == text) {
            Some((choice, ..)) => {
                self.bump();
                Ok(*choice)
            }
            None => {
                let names = || all.iter().map(|(_, name, _)| *name);
                let mut fault = Diagnostic::error(codes::UNKNOWN_CHOICE, format!("`{text}` is no {noun}"))
                    .at(self.here(), "")
                    .note(format!("it can be {}", names().collect::<Vec<_>>().join(", ")));
                fault = match did_you_mean(text, names()) {
                    Some(meant) => fault.help(format!("did you mean `{meant}`?")),
                    None => self.with_usage(fault),
                };
                Err(self.report(fault))
            }
        }
    }

    /// `{`, things between commas, `}`.
    pub(super) fn braces(&mut self, what: &str, mut each: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if !self.eat(Sign::LBrace) {
            return Err(self.expected(what));
        }
        if self.eat(Sign::RBrace) {
            return Ok(());
        }
        loop {
            each(self)?;
            if self.eat(Sign::RBrace) {
                return Ok(());
            }
            if !self.eat(Sign::Comma) {
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    /// The number of `word.NUMBER`, whose word is next.
    pub(super) fn dotted(&mut self) -> Parsed<u32> {
        self.bump();
        self.need(Sign::Dot)?;
        let (span, tok) = (self.here(), self.token.tok);
        let Tok::Number(number) = tok else { return Err(self.expected("a number")) };
        self.bump();
        u32::try_from(number)
            .map_err(|_| self.out_of_range(span, number.into(), "a number of this kind", 0, u32::MAX.into()))
    }

    /// What the string that is next says.
    pub(super) fn string(&mut self) -> String {
        let text =
            wsp_syntax::unescape(self.text_at(self.here()), wsp_syntax::Escapes::Hex).unwrap_or_default();
        self.bump();
        text
    }
}
