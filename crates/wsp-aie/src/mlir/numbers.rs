//! Reading numbers, each with a place in its type.

use super::read::{Read, Reader};
use super::tree::{Attr, Type};
use super::types::from_bits;
use crate::codes;
use wsp_diag::Span;
use wsp_syntax::{Tok, integer};

impl Reader<'_> {
    /// An integer, perhaps with `-`.
    pub(super) fn int(&mut self) -> Read<i64> {
        let at = self.cursor.span();
        let negative = self.eat(Tok::Minus);
        if !self.at(Tok::Number) {
            return self.expected("an integer");
        }
        let token = self.cursor.bump();
        let text = self.cursor.text_of(token);
        let value =
            integer(text, false).ok().map(i128::from).map(|value| if negative { -value } else { value });
        // Of 64 bits without sign the upper half is the negative half.
        let fits =
            |value: i128| i64::try_from(value).ok().or_else(|| u64::try_from(value).ok().map(|v| v as i64));
        match value.and_then(fits) {
            Some(value) => Ok(value),
            None => self.fault(
                codes::NUMBER,
                at,
                format!("`{}` is no integer of 64 bits", self.cursor.text_of(token)),
            ),
        }
    }

    pub(super) fn unsigned(&mut self) -> Read<u64> {
        let at = self.cursor.span();
        match u64::try_from(self.int()?) {
            Ok(value) => Ok(value),
            Err(_) => self.fault(codes::NUMBER, at, "a number below 0 where none can be"),
        }
    }

    /// Refuses an integer that has no place in its type: one without a sign, or one with it, of as many bits.
    fn fits(&self, value: i128, ty: &Type, at: Span) -> Read<()> {
        let (least, most) = match ty {
            Type::Int(bits) => (-(1i128 << (bits - 1)), (1i128 << bits) - 1),
            Type::Unsigned(bits) => (0, (1i128 << bits) - 1),
            Type::Index => (i128::from(i64::MIN), i128::from(u64::MAX)),
            _ => return Ok(()),
        };
        if (least..=most).contains(&value) {
            return Ok(());
        }
        let ty = super::text_of(ty);
        let message = format!("`{value}` has no place in `{ty}`, which has {least} to {most}");
        self.fault(codes::NUMBER, at, message)
    }

    /// Refuses integers of a constant that have no place in its type.
    pub(super) fn constant_fits(&self, value: &Attr, ty: &Type, at: Span) -> Read<()> {
        match value {
            Attr::Array(items) => items.iter().try_for_each(|item| self.constant_fits(item, ty, at)),
            Attr::Elements(inner, ty) => self.constant_fits(inner, ty, at),
            Attr::Int(value, _) => self.fits(i128::from(*value), ty.scalar(), at),
            _ => Ok(()),
        }
    }

    /// A number and its type.
    pub(super) fn number(&mut self) -> Read<Attr> {
        let at = self.cursor.span();
        let negative = self.at(Tok::Minus);
        let token = self.cursor.peek(usize::from(negative));
        let text = self.cursor.text_of(token);
        let is_hex = text.starts_with("0x") || text.starts_with("0X");
        if is_hex || !text.contains(['.', 'e', 'E']) {
            let value = self.int()?;
            let ty = if self.eat(Tok::Colon) { self.ty()? } else { Type::Int(64) };
            if ty.is_float() && is_hex {
                return Ok(Attr::Float(from_bits(value as u64, &ty), ty));
            }
            // A number of 64 bits without sign was read as a negative one.
            if !negative && value < 0 {
                self.fits(i128::from(value as u64), &ty, self.cursor.span_from(at))?;
            }
            return Ok(Attr::Int(value, ty));
        }
        if negative {
            self.cursor.bump();
        }
        self.cursor.bump();
        let Ok(value) = text.parse::<f64>() else {
            return self.fault(codes::NUMBER, at, format!("`{text}` is no number"));
        };
        let ty = if self.eat(Tok::Colon) { self.ty()? } else { Type::F64 };
        if !ty.is_float() {
            return self.fault(codes::NUMBER, at, format!("`{text}` has a type of integers"));
        }
        Ok(Attr::Float(if negative { -value } else { value }, ty))
    }
}
