//! Types and template arguments.

use super::{Parsed, Parser, Skip};
use crate::ast::{Ident, Indirection, TemplateArg, Type, TypeBase};
use crate::codes;
use std::rc::Rc;
use wsp_diag::{Diagnostic, Span};
use wsp_syntax::{Tok, Token};

/// Scalar types by their fixed names.
const SCALARS: &[&str] = &[
    "void",
    "auto",
    "bool",
    "float",
    "double",
    "half",
    "bfloat16_t",
    "float8_e4m3_t",
    "float8_e5m2_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
];

/// Scalar types by C's own names.
const C_INTEGERS: &[&str] = &["unsigned", "signed", "int", "short", "long", "char", "size_t"];

/// Types that take template arguments.
const GENERIC: &[&str] =
    &["VecTile", "LeftTile", "RightTile", "AccTile", "AccumulationTile", "Tensor", "Workspace"];

/// Whether a word names a scalar type, `auto` or `void`.
pub(super) fn is_scalar(word: &str) -> bool {
    let word = word.strip_prefix("std::").unwrap_or(word);
    SCALARS.contains(&word) || C_INTEGERS.contains(&word)
}

impl Parser<'_> {
    /// Whether a declaration starts here rather than an expression.
    pub(super) fn at_declaration(&self) -> bool {
        let Some(word) = self.word() else { return false };
        let next = self.peek(1);
        match word {
            "const" | "constexpr" => true,
            "PTO_DTYPE" => true,
            _ if is_scalar(word) => !matches!(next.kind, Tok::LParen | Tok::LBrace),
            _ if super::foreign::is_keyword(word) => false,
            _ => match next.kind {
                Tok::Ident => !super::foreign::is_keyword(self.text_of(next)),
                Tok::Lt => {
                    GENERIC.contains(&word) || self.template_list_ends().is_some_and(|t| t.kind == Tok::Ident)
                }
                Tok::Star | Tok::Amp => {
                    self.peek(2).kind == Tok::Ident
                        && matches!(self.peek(3).kind, Tok::Eq | Tok::Semi | Tok::Comma)
                }
                _ => false,
            },
        }
    }

    /// The token behind the `<…>` that follows the current token, if it is a plain list. Looks a bounded way ahead.
    pub(super) fn template_list_ends(&self) -> Option<Token> {
        const REACH: usize = 48;
        let (mut depth, mut parens) = (0u32, 0u32);
        for n in 1..REACH {
            match self.peek(n).kind {
                Tok::LParen => parens += 1,
                Tok::RParen if parens == 0 => return None,
                Tok::RParen => parens -= 1,
                _ if parens > 0 => {}
                Tok::Lt => depth += 1,
                Tok::Gt if depth == 1 => return Some(self.peek(n + 1)),
                Tok::Gt => depth = depth.saturating_sub(1),
                Tok::Shr if depth == 2 => return Some(self.peek(n + 1)),
                Tok::Semi | Tok::LBrace | Tok::RBrace | Tok::AmpAmp | Tok::PipePipe | Tok::Eq | Tok::Eof => {
                    return None;
                }
                _ => {}
            }
        }
        None
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.nested(Self::ty_inner)
    }

    fn ty_inner(&mut self) -> Parsed<Type> {
        let start = self.span();
        let mut is_const = self.eat_const();
        let base = self.type_base()?;
        let args = if self.at(Tok::Lt) { self.template_args()? } else { Vec::new() };
        is_const |= self.eat_const();
        let indirection = match self.tok() {
            Tok::Star => Indirection::Pointer,
            Tok::Amp => Indirection::Reference,
            Tok::AmpAmp => return Err(self.bad_indirection()),
            _ => Indirection::None,
        };
        if indirection != Indirection::None {
            self.bump();
            self.eat_const();
            if matches!(self.tok(), Tok::Star | Tok::Amp | Tok::AmpAmp) {
                return Err(self.bad_indirection());
            }
        }
        Ok(Type { is_const, base, args, indirection, span: self.span_from(start) })
    }

    fn eat_const(&mut self) -> bool {
        let mut found = false;
        while self.eat_word("const") || self.eat_word("constexpr") {
            found = true;
        }
        found
    }

    fn bad_indirection(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::BAD_INDIRECTION, "a type has at most one `*` or `&`")
            .at(self.span(), "one too many")
            .help("arrays are `const uint32_t* p`, tiles `VecTile<…>& t`, descriptors `const Name& d`");
        self.report(diagnostic)
    }

    fn type_base(&mut self) -> Parsed<TypeBase> {
        let Some(word) = self.word() else {
            return Err(self.unexpected(codes::EXPECTED_TYPE, "a type"));
        };
        if word == "PTO_DTYPE" {
            self.bump();
            let open = self.expect(Tok::LParen, "`(` after `PTO_DTYPE`")?;
            let tensor = self.delimited(Self::expr)?;
            self.close(open, "`)` after the tensor")?;
            return Ok(TypeBase::DtypeOf(Box::new(tensor)));
        }
        let plain = word.strip_prefix("std::").unwrap_or(word);
        if C_INTEGERS.contains(&plain) {
            return Ok(TypeBase::Named(self.c_integer(plain)));
        }
        if SCALARS.contains(&plain) {
            let token = self.bump();
            let skipped = (word.len() - plain.len()) as u32;
            let ident = self.ident_of(Token { start: token.start + skipped, ..token });
            return Ok(TypeBase::Named(Ident { span: self.span_of(token), ..ident }));
        }
        if let Some(skip) = self.foreign_keyword() {
            return Err(skip);
        }
        self.name("a type").map(TypeBase::Named)
    }

    /// `unsigned long long` and its like, as the fixed-width type.
    fn c_integer(&mut self, first: &str) -> Ident {
        let start = self.span();
        let (mut unsigned, mut long, mut name) = (false, false, "int32_t");
        let mut word = Some(first);
        while let Some(part) = word.filter(|w| C_INTEGERS.contains(w)) {
            match part {
                "unsigned" => unsigned = true,
                "long" => long = true,
                "short" => name = "int16_t",
                "char" => name = "int8_t",
                "size_t" => (unsigned, long) = (true, true),
                _ => {}
            }
            self.bump();
            word = self.word();
        }
        let signed = if long { "int64_t" } else { name };
        let name = if unsigned { format!("u{signed}") } else { signed.to_owned() };
        Ident { name: Rc::from(name), span: self.span_from(start) }
    }

    /// `<…>` with the current token at `<`.
    pub(super) fn template_args(&mut self) -> Parsed<Vec<TemplateArg>> {
        let open = self.bump();
        let stop_at_gt = std::mem::replace(&mut self.stop_at_gt, true);
        let args = self.template_list(open);
        self.stop_at_gt = stop_at_gt;
        args
    }

    fn template_list(&mut self, open: Token) -> Parsed<Vec<TemplateArg>> {
        let mut args = Vec::new();
        loop {
            args.push(self.nested(Self::template_arg)?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        match self.tok() {
            Tok::Gt => {
                self.bump();
                Ok(args)
            }
            // The first half of `>>` closes this list, the second an outer one.
            Tok::Shr => {
                self.split(Tok::Gt);
                Ok(args)
            }
            _ => {
                let span = self.span_of(open);
                Err(self.unclosed_list(span))
            }
        }
    }

    fn unclosed_list(&mut self, open: Span) -> Skip {
        if self.at(Tok::Bad) {
            return Skip;
        }
        let diagnostic = Diagnostic::error(codes::UNCLOSED, "expected `,` or `>`")
            .at(self.gap(), format!("found {}", self.found()))
            .label(open, "this `<` is not closed");
        self.report(diagnostic)
    }

    fn template_arg(&mut self) -> Parsed<TemplateArg> {
        let is_type = match self.word() {
            Some("const" | "PTO_DTYPE") => true,
            Some(word) if GENERIC.contains(&word) => true,
            Some(word) => is_scalar(word) && self.peek(1).kind != Tok::LParen,
            None => false,
        };
        if is_type { self.ty().map(TemplateArg::Type) } else { self.expr().map(TemplateArg::Expr) }
    }
}
