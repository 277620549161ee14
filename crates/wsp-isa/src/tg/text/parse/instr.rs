//! Instructions, from the table of them.

use super::operand::Operand;
use super::{Parsed, Parser, Role};
use crate::tg::text::codes;
use crate::tg::text::tokens::{Sign, Tok};
use wsp_core::for_each_tg_op;
use wsp_core::tg::*;
use wsp_diag::{Diagnostic, did_you_mean};

/// What an operand does with a name: some instructions define what they name.
const fn role(op: Op, operand: &str) -> Role {
    match (op, operand.as_bytes()) {
        (Op::TgBegin, b"graph_id")
        | (Op::TgFuse, b"fused_graph")
        | (Op::TgKernel, b"kernel_id")
        | (Op::McAlloc, b"tensor_id")
        | (Op::CaPartition, b"partition_id")
        | (Op::CfLoop, b"iterator") => Role::Defines,
        _ => Role::Uses,
    }
}

/// The value of an operand, or its default.
macro_rules! value_of {
    ($parser:ident, $given:ident, $operand:ident) => {
        match $given {
            Some(value) => value,
            None => return Err($parser.missing(stringify!($operand))),
        }
    };
    ($parser:ident, $given:ident, $operand:ident, $default:expr) => {
        $given.unwrap_or($default)
    };
}

macro_rules! reader {
    ($($(#[doc = $doc:literal])* $code:literal $mnemonic:ident $name:ident $builder:ident $section:literal $scope:ident
        [$($support:ident)*] { $($operand:ident: $ty:ty $(= $default:expr)?),* };)*) => {
        impl Parser<'_> {
            /// The instruction whose name was read: its operands.
            pub(super) fn instr(&mut self, op: Op) -> Parsed<Instr> {
                match op {
                    $(Op::$name => {
                        #[allow(unused_mut, reason = "some instructions have no operands")]
                        let mut opened = self.open_operands();
                        $(let mut $operand: Option<$ty> = match self.positional(&mut opened)? {
                            true => Some(<$ty>::read(self, const { role(Op::$name, stringify!($operand)) })?),
                            false => None,
                        };)*
                        while let Some(given) = self.named(&mut opened)? {
                            $(if self.is_operand(given, stringify!($operand)) {
                                self.once(given, $operand.is_some())?;
                                $operand = Some(<$ty>::read(self, const { role(Op::$name, stringify!($operand)) })?);
                                continue;
                            })*
                            return Err(self.unknown_operand(given));
                        }
                        Ok(Instr::$name { $($operand: value_of!(self, $operand, $operand $(, $default)?),)* })
                    })*
                }
            }
        }
    };
}

for_each_tg_op!(reader);

/// How far a list of operands is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// There is none, or its end was read.
    Closed,
    /// Before the first operand.
    First,
    /// Behind an operand.
    Behind,
}

/// The name of an operand that is given by name.
#[derive(Clone, Copy)]
pub(super) struct Given {
    start: u32,
    end: u32,
}

impl Parser<'_> {
    /// Takes the parenthesis before the operands.
    #[inline]
    fn open_operands(&mut self) -> Place {
        if !self.token.fresh && self.eat(Sign::LParen) { Place::First } else { Place::Closed }
    }

    /// Goes to the next operand; whether there is one that is given by its place.
    #[inline]
    fn positional(&mut self, place: &mut Place) -> Parsed<bool> {
        Ok(self.separate(place)? && !self.is_named())
    }

    #[inline]
    fn is_named(&self) -> bool {
        matches!(self.token.tok, Tok::Ident(_)) && self.tokens.assigns()
    }

    /// Passes the comma before an operand or the parenthesis behind the last; whether there is an operand.
    #[inline]
    fn separate(&mut self, place: &mut Place) -> Parsed<bool> {
        match *place {
            Place::Closed => return Ok(false),
            Place::First if self.eat(Sign::RParen) => {
                *place = Place::Closed;
                return Ok(false);
            }
            // The comma was taken when the operand before was looked for by its place.
            Place::First => {}
            Place::Behind if self.eat(Sign::Comma) => {}
            Place::Behind if self.eat(Sign::RParen) => {
                *place = Place::Closed;
                return Ok(false);
            }
            Place::Behind => return Err(self.expected("`,` or `)`")),
        }
        // The parenthesis before was left open: this is the next statement.
        if self.token.fresh && matches!(self.token.tok, Tok::Ident(ident) if ident.op().is_some()) {
            return Err(self.expected("an operand"));
        }
        // An operand by name is looked at again by those behind.
        *place = if self.is_named() { Place::First } else { Place::Behind };
        Ok(true)
    }

    /// The name of the next operand that is given by name, up to the end of the list.
    fn named(&mut self, place: &mut Place) -> Parsed<Option<Given>> {
        if !self.separate(place)? {
            return Ok(None);
        }
        if self.is(Sign::RParen) {
            return Err(self.expected("an operand"));
        }
        if !self.is_named() {
            return Err(self.too_many());
        }
        let given = Given { start: self.token.start, end: self.token.end };
        self.bump();
        self.need(Sign::Eq)?;
        *place = Place::Behind;
        Ok(Some(given))
    }

    fn is_operand(&self, given: Given, name: &str) -> bool {
        let text = &self.tokens.text[given.start as usize..given.end as usize];
        text == name || (text == "blockDim" && name == "block_dim")
    }

    fn once(&mut self, given: Given, is_given: bool) -> Parsed<()> {
        if !is_given {
            return Ok(());
        }
        let span = wsp_diag::Span::new(self.file, given.start, given.end);
        let message = format!("`{}` is given twice", self.text_at(span));
        let fault = self.with_usage(Diagnostic::error(codes::OPERANDS, message).at(span, ""));
        Err(self.report(fault))
    }

    #[cold]
    fn unknown_operand(&mut self, given: Given) -> super::Skip {
        let span = wsp_diag::Span::new(self.file, given.start, given.end);
        let name = self.text_at(span);
        let (mnemonic, operands) = self.op.map_or(("", &[][..]), |op| {
            let info = op.info();
            (info.mnemonic, info.operands)
        });
        let meant = did_you_mean(name, operands.iter().map(|operand| operand.name));
        let fault =
            Diagnostic::error(codes::OPERANDS, format!("`{mnemonic}` has no operand `{name}`")).at(span, "");
        let fault = match meant {
            Some(meant) => fault.help(format!("did you mean `{meant}`?")),
            None => self.with_usage(fault),
        };
        self.report(fault)
    }

    #[cold]
    fn missing(&mut self, operand: &str) -> super::Skip {
        let mnemonic = self.op.map_or("", |op| op.info().mnemonic);
        let end = wsp_diag::Span::new(self.file, self.taken.saturating_sub(1), self.taken);
        let fault = Diagnostic::error(codes::OPERANDS, format!("`{mnemonic}` needs `{operand}`"))
            .at(end, "the operands end here");
        let fault = self.with_usage(fault);
        self.report(fault)
    }

    #[cold]
    fn too_many(&mut self) -> super::Skip {
        let (mnemonic, operands) =
            self.op.map_or(("", 0), |op| (op.info().mnemonic, op.info().operands.len()));
        let fault = Diagnostic::error(codes::OPERANDS, format!("too many operands for `{mnemonic}`"))
            .at(self.here(), "")
            .note(format!("it has at most {operands}, and those without a name come first"));
        let fault = self.with_usage(fault);
        self.report(fault)
    }
}
