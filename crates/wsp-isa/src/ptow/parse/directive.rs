//! Lines of directives: what stands in the tables and pools of a program.

use super::{Assembler, NameStyle, Parsed};
use crate::ptow::codes;
use crate::ptow::image::EmptyPool;
use crate::ptow::names::NO_NAME;
use crate::ptow::print::POOLS;
use crate::ptow::symbols::{Kind, default_symbol, unusable};
use std::rc::Rc;
use wsp_core::ptow::{AxisDescriptor, AxisForm, Counts, KernelDescriptor, Operand, TensorDescriptor};
use wsp_core::words::a;
use wsp_core::{DType, MAX_RANK};
use wsp_diag::Diagnostic;
use wsp_syntax::{Cursor, Escapes, Tok, Token, unescape};

/// Directives without a table of their own.
const OTHERS: [&str; 10] =
    ["values", "tables", "slots", "labels", "generators", "channels", "names", "pool", "expr", "xword"];
/// A word among instructions.
const WORD: &str = "word";

/// All ones in 16 bits, for none.
const NONE: u32 = u16::MAX as u32;

/// What a directive of counts counts.
type Counted = fn(&mut Counts) -> &mut u16;

impl Assembler<'_> {
    /// Takes a row's symbol before lines are read that use it.
    pub(super) fn declare(&mut self, kind: Kind, symbol: Token) {
        let index = self.symbols.len(kind);
        let name = self.text_of(symbol).to_owned();
        let span = self.span_of(symbol);
        let row = Rc::make_mut(&mut self.symbols).add(kind, &name);
        self.names[kind as usize].push(Some(name.clone()));
        self.places.rows[kind as usize].push(span);
        if let Some(reason) = unusable(kind, index, &name) {
            let fault = Diagnostic::error(
                codes::EXPECTED,
                format!("`{name}` cannot be the symbol of {}", a(kind.word())),
            )
            .at(span, reason)
            .help(format!("write `.{} {} \"{name}\"`", kind.word(), default_symbol(kind, index)));
            self.report(fault);
        } else if row.is_some() {
            let fault = Diagnostic::error(
                codes::DECLARED_TWICE,
                format!("{} `{name}` is declared twice", kind.word()),
            )
            .at(span, "")
            .help(format!("write `.{} {} \"{name}\"`", kind.word(), default_symbol(kind, index)));
            self.report(fault);
        }
    }

    /// Values or tables without names; their number is taken before lines are read that use them.
    pub(super) fn declare_count(&mut self, kind: Kind, count: u64) {
        for _ in 0..count.min(u64::from(u16::MAX)) {
            let symbol = default_symbol(kind, self.symbols.len(kind));
            Rc::make_mut(&mut self.symbols).add(kind, &symbol);
            self.names[kind as usize].push(Some(String::new()));
        }
    }

    /// A directive whose name is taken already.
    pub(super) fn directive(&mut self, cursor: &mut Cursor<'_>, token: Token) -> Parsed<()> {
        let name = self.text_of(token).get(1..).unwrap_or("").to_owned();
        if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.word() == name) {
            return self.row_of_table(cursor, kind);
        }
        let counted: Option<Counted> = match name.as_str() {
            "slots" => Some(|counts| &mut counts.slots),
            "labels" => Some(|counts| &mut counts.labels),
            "generators" => Some(|counts| &mut counts.generators),
            "channels" => Some(|counts| &mut counts.channels),
            _ => None,
        };
        if let Some(counted) = counted {
            let count = self.number(cursor, "a number of rows", u32::from(u16::MAX))? as u16;
            let place = counted(&mut self.image.counts);
            if *place != 0 {
                return Err(self.twice(token));
            }
            *place = count;
            return Ok(());
        }
        match name.as_str() {
            "values" | "tables" => self.number(cursor, "a number of rows", u32::from(u16::MAX)).map(|_| ()),
            "names" => self.names_directive(cursor, token),
            "pool" => {
                self.word(cursor, "empty")?;
                self.pool = EmptyPool::Written;
                Ok(())
            }
            "expr" => {
                let words = self.expression(cursor)?;
                self.add_expression(words, self.span_of(token));
                Ok(())
            }
            "xword" => {
                let word = self.raw_word(cursor)?;
                self.image.exprs.push(word);
                self.places.exprs.push(self.span_of(token));
                Ok(())
            }
            WORD => {
                let word = self.raw_word(cursor)?;
                let span = self.span_of(token);
                self.push(word, span);
                Ok(())
            }
            _ => Err(self.unknown_directive(token)),
        }
    }

    fn unknown_directive(&mut self, token: Token) -> super::Skip {
        let name = self.text_of(token).get(1..).unwrap_or("");
        let all = Kind::ALL.into_iter().map(Kind::word).chain(OTHERS).chain([WORD]);
        let meant = wsp_diag::did_you_mean(name, all);
        let fault = Diagnostic::error(codes::UNKNOWN_WORD, format!("no directive is called `.{name}`"))
            .at(self.span_of(token), "");
        let fault = match meant {
            Some(meant) => fault.help(format!("did you mean `.{meant}`?")),
            None => fault.help("directives declare `.value`, `.table`, `.axis`, `.kernel` and `.tensor`"),
        };
        self.report(fault)
    }

    fn twice(&mut self, token: Token) -> super::Skip {
        let fault =
            Diagnostic::error(codes::DECLARED_TWICE, format!("`{}` stands twice", self.text_of(token)))
                .at(self.span_of(token), "");
        self.report(fault)
    }

    /// `.names none` or `.names bytes …`.
    fn names_directive(&mut self, cursor: &mut Cursor<'_>, token: Token) -> Parsed<()> {
        if cursor.eat_word("none") {
            if self.name_style != NameStyle::Symbols {
                return Err(self.twice(token));
            }
            self.name_style = NameStyle::None;
            return Ok(());
        }
        if !cursor.eat_word("bytes") {
            return Err(self.expected(cursor, "`none` or `bytes`"));
        }
        if self.name_style == NameStyle::None {
            return Err(self.twice(token));
        }
        self.name_style = NameStyle::Bytes;
        while !cursor.at(Tok::Eof) {
            let byte = self.number(cursor, "a byte", 0xFF)?;
            self.image.names.push(byte as u8);
        }
        Ok(())
    }

    /// A row of a table, whose symbol is declared.
    fn row_of_table(&mut self, cursor: &mut Cursor<'_>, kind: Kind) -> Parsed<()> {
        self.ident(cursor, &format!("the name of {}", a(kind.word())))?;
        let row = self.next_row[kind as usize];
        self.next_row[kind as usize] += 1;
        if cursor.at(Tok::Str) {
            let name = unescape(self.text_of(cursor.token()), Escapes::Hex).unwrap_or_default();
            self.rename(cursor, kind, row, &name)?;
        }
        match kind {
            Kind::Value | Kind::Table => Ok(()),
            Kind::Axis => {
                let axis = self.axis(cursor);
                // A broken row keeps the place of those behind it.
                let (axis, result) = kept(axis);
                self.image.axes.push(axis);
                result
            }
            Kind::Kernel => {
                let (kernel, result) = kept(self.kernel(cursor));
                self.image.kernels.push(kernel);
                result
            }
            Kind::Tensor => {
                let (tensor, result) = kept(self.tensor(cursor));
                self.image.tensors.push(tensor);
                result
            }
        }
    }

    /// Gives a row another name than its symbol. Without letters, kernels and tensors have none.
    fn rename(&mut self, cursor: &mut Cursor<'_>, kind: Kind, row: usize, name: &str) -> Parsed<()> {
        if name.contains('\0') {
            let fault = Diagnostic::error(codes::BAD_TOKEN, "a name holds a zero byte")
                .at(cursor.span(), "names end with one");
            return Err(self.report(fault));
        }
        cursor.bump();
        let none = name.is_empty() && matches!(kind, Kind::Kernel | Kind::Tensor);
        if let Some(place) = self.names[kind as usize].get_mut(row) {
            *place = (!none).then(|| name.to_owned());
        }
        Ok(())
    }

    fn axis(&mut self, cursor: &mut Cursor<'_>) -> Parsed<AxisDescriptor> {
        let form = self.ident(cursor, "the form of an axis")?;
        let axis =
            |form: AxisForm, a: u32, b: u32| AxisDescriptor { form: form as u8, a: a as u16, b, reserved: 0 };
        Ok(match self.text_of(form) {
            "dense" => {
                let low = self.operand(cursor, Operand::Expr, NONE)?;
                self.sign(cursor, Tok::Range)?;
                axis(AxisForm::Dense, low, self.expr(cursor)?)
            }
            "dyn" => axis(AxisForm::DenseDyn, self.operand(cursor, Operand::Value, NONE)?, 0),
            "ragged" => {
                let table = self.operand(cursor, Operand::Table, u32::MAX)?;
                axis(AxisForm::Ragged, self.outer(cursor)?, table)
            }
            "sparse" => {
                let indptr = self.operand(cursor, Operand::Table, NONE)?;
                self.sign(cursor, Tok::Comma)?;
                let columns = self.operand(cursor, Operand::Table, NONE)?;
                axis(AxisForm::Sparse, self.outer(cursor)?, columns << 16 | indptr)
            }
            "range" => {
                let low = self.operand(cursor, Operand::Expr, NONE)?;
                self.sign(cursor, Tok::Range)?;
                let high = self.operand(cursor, Operand::Expr, NONE)?;
                let step =
                    if cursor.eat_word("step") { self.operand(cursor, Operand::Expr, NONE)? } else { NONE };
                axis(AxisForm::Range, low, step << 16 | high)
            }
            "set" => axis(AxisForm::Set, 0, 0),
            "raw" => AxisDescriptor {
                form: self.number(cursor, "the form of an axis", 0xFF)? as u8,
                reserved: self.number(cursor, "a reserved byte", 0xFF)? as u8,
                a: self.number(cursor, "a field of an axis", NONE)? as u16,
                b: self.number(cursor, "a field of an axis", u32::MAX)?,
            },
            _ => {
                let forms = ["dense", "dyn", "ragged", "sparse", "range", "set", "raw"];
                let meant = self.nearest(form, forms);
                return Err(self.unknown_name(form, "form of an axis", meant));
            }
        })
    }

    /// `of AXIS`, or nothing.
    fn outer(&mut self, cursor: &mut Cursor<'_>) -> Parsed<u32> {
        if cursor.eat_word("of") { self.operand(cursor, Operand::Axis, NONE) } else { Ok(NONE) }
    }

    /// `name N`, or nothing.
    fn name_offset(&mut self, cursor: &mut Cursor<'_>) -> Parsed<u16> {
        if cursor.eat_word("name") {
            Ok(self.number(cursor, "the place of a name", NONE)? as u16)
        } else {
            Ok(NO_NAME)
        }
    }

    fn kernel(&mut self, cursor: &mut Cursor<'_>) -> Parsed<KernelDescriptor> {
        let mut kernel = KernelDescriptor::default();
        let token = self.ident(cursor, "`vector`, `cube` or `any`")?;
        let text = self.text_of(token);
        if text == "raw" {
            kernel.pool = self.number(cursor, "the pool of a kernel", 0xFF)? as u8;
            kernel.reserved = self.number(cursor, "a reserved byte", 0xFF)? as u8;
            kernel.reserved2 = self.number(cursor, "a reserved word", u32::MAX)?;
        } else if let Some((_, pool)) = POOLS.iter().find(|(name, _)| *name == text) {
            kernel.pool = *pool as u8;
        } else {
            let meant = self.nearest(token, POOLS.iter().map(|(name, _)| *name));
            return Err(self.unknown_name(token, "pool", meant));
        }
        kernel.name = self.name_offset(cursor)?;
        Ok(kernel)
    }

    fn tensor(&mut self, cursor: &mut Cursor<'_>) -> Parsed<TensorDescriptor> {
        let mut tensor = TensorDescriptor::default();
        let token = self.ident(cursor, "an element type, such as `f32`")?;
        if self.text_of(token) == "raw" {
            tensor.dtype = self.number(cursor, "an element type", 0xFF)? as u8;
            tensor.rank = self.number(cursor, "a rank", 0xFF)? as u8;
            tensor.slot = self.number(cursor, "a slot", u32::MAX)?;
        } else {
            let Some(dtype) = DType::from_name(self.text_of(token)) else {
                let meant = self.nearest(token, DType::ALL.iter().map(|dtype| dtype.name()));
                return Err(self.unknown_name(token, "element type", meant));
            };
            tensor.dtype = dtype.code();
            tensor.rank = self.number(cursor, "a rank", MAX_RANK as u32)? as u8;
            if cursor.eat_word("slot") {
                tensor.slot = self.number(cursor, "the number of a slot", u32::MAX - 1)? + 1;
            }
        }
        tensor.name = self.name_offset(cursor)?;
        Ok(tensor)
    }
}

/// A row, or an empty one with the report that it is broken.
fn kept<T: Default>(row: Parsed<T>) -> (T, Parsed<()>) {
    match row {
        Ok(row) => (row, Ok(())),
        Err(skip) => (T::default(), Err(skip)),
    }
}
