//! Operations, regions and files.

use super::lex::Mlir;
use super::read::{Labels, Read, Reader};
use super::table::{self, Made};
use super::tree::{Attr, Block, Module, Op, Region, Shaped, Type, Value};
use super::{custom, pretty};
use crate::codes;
use wsp_core::limits::MAX_UNIT_BYTES;
use wsp_diag::{Diagnostic, FileId, Label, Span};
use wsp_ordered::OrderedMap;
use wsp_syntax::{Cursor, Ends, Tok, shorten, tokens};

/// Reads a file. Any text is taken or refused; nothing in it makes this panic or run for long.
///
/// # Errors
/// The first thing that is wrong.
pub fn parse(file: FileId, text: &str) -> Result<Module, Diagnostic> {
    if text.len() > MAX_UNIT_BYTES as usize {
        let message = format!("{} bytes of text, and {MAX_UNIT_BYTES} are read at most", text.len());
        return Err(Diagnostic::error(codes::SYNTAX, message));
    }
    let tokens = tokens::<Mlir>(text, |_, token| Some(token.kind));
    let mut reader = Reader::new(Cursor::new(file, text, tokens, Ends::File));
    reader.file().map_err(|fault| *fault)?;
    Ok(reader.module)
}

impl Reader<'_> {
    fn file(&mut self) -> Read<()> {
        while !self.at(Tok::Eof) {
            let op = self.op()?;
            // A file is what its module has, whether the module is written or not.
            if op.name == "builtin.module" && op.attrs.iter().all(|(name, _)| name == "sym_name") {
                let blocks = op.regions.into_iter().flat_map(|region| region.blocks);
                self.module.ops.extend(blocks.flat_map(|block| block.ops));
            } else {
                self.module.ops.push(op);
            }
        }
        Ok(())
    }

    /// `%a, %b = operation`
    pub(super) fn op(&mut self) -> Read<Op> {
        self.deeper(Reader::op_inside)
    }

    fn op_inside(&mut self) -> Read<Op> {
        let start = self.cursor.span();
        let mut names = Vec::new();
        while self.at(Tok::Percent) {
            let at = self.cursor.span();
            let name = self.sigil(Tok::Percent, "a value")?;
            let count = if self.eat(Tok::Colon) { self.unsigned()? } else { 1 };
            if count == 0 || count > 64 {
                return self.fault(
                    codes::NUMBER,
                    at,
                    format!("`%{name}` stands for {count} results, and 1 to 64 are taken"),
                );
            }
            names.push((name, count as usize, self.cursor.span_from(at)));
            if !self.eat(Tok::Comma) {
                self.take(Tok::Eq)?;
                break;
            }
        }
        let is_generic = self.at(Tok::Str);
        let (mut op, types) = if is_generic { self.generic()? } else { pretty::read(self)? };
        op.span = self.cursor.span_from(start);
        if let Some(row) = table::find(&op.name).filter(|row| !is_generic && row.left_out().is_none()) {
            is_ended(&op, row, (op.span, types.len()), |ends| format!("`{ends}`"))?;
        }
        if let Some(value) = op.find("value").filter(|_| op.name == "arith.constant")
            && let Some(ty) = types.first()
        {
            self.constant_fits(value, ty, op.span)?;
        }
        self.name_results(&mut op, &types, &names)?;
        Ok(op)
    }

    fn name_results(&mut self, op: &mut Op, types: &[Type], names: &[(String, usize, Span)]) -> Read<()> {
        let told: usize = names.iter().map(|(_, count, _)| count).sum();
        // A result that is not used may be left without a name.
        if told != types.len() && !names.is_empty() {
            let message = format!("`{}` makes {} values, and {told} are named", op.name, types.len());
            return self.fault(codes::ARITY, op.span, message);
        }
        let mut types = types.iter();
        for (name, count, at) in names {
            let made: Vec<Value> =
                types.by_ref().take(*count).map(|ty| self.module.value(name.clone(), ty.clone())).collect();
            if *count > 1 {
                for (i, value) in made.iter().enumerate() {
                    self.module.values[value.0 as usize].name = format!("{name}_{i}");
                    self.name(&format!("{name}_{i}"), vec![*value], *at)?;
                }
            }
            op.results.extend(&made);
            self.name(name, made, *at)?;
        }
        for ty in types {
            let name = format!("unnamed_{}", self.module.values.len());
            let value = self.module.value(name.clone(), ty.clone());
            op.results.push(value);
            self.name(&name, vec![value], op.span)?;
        }
        Ok(())
    }

    /// Gives values a name in the innermost scope.
    pub(super) fn name(&mut self, name: &str, values: Vec<Value>, at: Span) -> Read<()> {
        if self.scopes.iter().any(|scope| scope.contains_key(name)) {
            return self.fault(codes::VALUE, at, format!("`%{name}` is made twice"));
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), values);
        }
        Ok(())
    }

    /// `%name` or `%name#1`, which was made before.
    pub(super) fn operand(&mut self) -> Read<Value> {
        let at = self.cursor.span();
        let name = self.sigil(Tok::Percent, "a value")?;
        let index = if self.eat(Tok::Hash) { self.unsigned()? } else { 0 };
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(&name));
        match found.and_then(|values| values.get(index as usize)) {
            Some(value) => Ok(*value),
            None => self.fault(codes::VALUE, at, format!("no value `%{}` was made before", shorten(&name))),
        }
    }

    /// `"name"(operands)[blocks] <{properties}> (regions) {attributes} : (types) -> types`
    fn generic(&mut self) -> Read<(Op, Vec<Type>)> {
        let at = self.cursor.span();
        let mut op = Op::new(self.string()?);
        let Some(row) = table::find(&op.name) else { return unknown(&op.name, at) };
        self.take(Tok::LParen)?;
        op.operands = self.list(Tok::RParen, &mut Reader::operand)?;
        if self.eat(Tok::LBracket) {
            op.successors = self.list(Tok::RBracket, &mut Reader::successor)?;
        }
        let mut attrs = Vec::new();
        if self.eat(Tok::Lt) {
            self.take(Tok::LBrace)?;
            attrs = self.dict()?;
            self.take(Tok::Gt)?;
        }
        if self.eat(Tok::LParen) {
            op.regions = self.list(Tok::RParen, &mut |reader| reader.region(Vec::new()))?;
        }
        if self.eat(Tok::LBrace) {
            attrs.extend(self.dict()?);
        }
        self.add_attrs(&mut op, attrs, at)?;
        self.take(Tok::Colon)?;
        let types = self.cursor.span();
        self.take(Tok::LParen)?;
        let given = self.list(Tok::RParen, &mut Reader::ty)?;
        self.take(Tok::Arrow)?;
        let made = self.types_behind_arrow()?;
        let have: Vec<&Type> = op.operands.iter().map(|value| self.module.ty(*value)).collect();
        if have.len() != given.len() || have.into_iter().zip(&given).any(|(have, given)| have != given) {
            return self.fault(
                codes::ARITY,
                types,
                format!("these are not the types of the operands of `{}`", op.name),
            );
        }
        if let Made::Nothing = row.made
            && !made.is_empty()
        {
            return self.fault(codes::ARITY, types, format!("`{}` makes nothing", op.name));
        }
        is_ended(&op, row, (at, made.len()), |ends| format!("`\"{ends}\"() : () -> ()`"))?;
        drop_terminators(&mut op, row.left_out());
        custom::settle(&mut op);
        Ok((op, made))
    }

    /// Adds attributes, each once.
    pub(super) fn add_attrs(&mut self, op: &mut Op, attrs: Vec<(String, Attr)>, at: Span) -> Read<()> {
        for (name, value) in attrs {
            if op.find(&name).is_some() {
                return self.fault(codes::ATTRIBUTE, at, format!("`{name}` of `{}` is given twice", op.name));
            }
            op.set(&name, value);
        }
        Ok(())
    }

    /// `^name`, by its place among the names of blocks that were met.
    pub(super) fn successor(&mut self) -> Read<u32> {
        let at = self.cursor.span();
        let name = self.sigil(Tok::Caret, "a block `^name`")?;
        if self.labels.is_empty() {
            return self.fault(
                codes::VALUE,
                at,
                format!("`^{}` is a block outside a region", shorten(&name)),
            );
        }
        Ok(self.label(&name))
    }

    fn label(&mut self, name: &str) -> u32 {
        let Some(labels) = self.labels.last_mut() else { return 0 };
        if let Some(known) = labels.known.get(name) {
            return *known;
        }
        let at = labels.all.len() as u32;
        labels.all.push((name.to_owned(), None));
        labels.known.insert(name.to_owned(), at);
        at
    }

    /// `{ … }`; the values are those of its first block, with their names and types.
    pub(super) fn region(&mut self, args: Vec<(String, Type, Span)>) -> Read<Region> {
        let open = self.cursor.token();
        self.take(Tok::LBrace)?;
        self.scopes.push(OrderedMap::new());
        self.labels.push(Labels::default());
        let mut region = Region::default();
        if !args.is_empty() || !self.at(Tok::Caret) {
            let args = self.args(args)?;
            region.blocks.push(self.block(args)?);
        }
        while self.at(Tok::Caret) {
            let at = self.cursor.span();
            let name = self.sigil(Tok::Caret, "a block `^name`")?;
            let label = self.label(&name) as usize;
            let place = Some(region.blocks.len() as u32);
            match self.labels.last_mut().and_then(|labels| labels.all.get_mut(label)) {
                Some((_, met @ None)) => *met = place,
                _ => return self.fault(codes::VALUE, at, format!("`^{name}` stands here twice")),
            }
            let args = if self.eat(Tok::LParen) {
                let args = self.list(Tok::RParen, &mut Reader::typed_name)?;
                self.args(args)?
            } else {
                Vec::new()
            };
            self.take(Tok::Colon)?;
            region.blocks.push(self.block(args)?);
        }
        if !self.at(Tok::RBrace) {
            return Err(Box::new(self.cursor.unclosed(codes::SYNTAX, open, "`}`")));
        }
        self.take(Tok::RBrace)?;
        self.scopes.pop();
        let labels = self.labels.pop().unwrap_or_default();
        self.resolve(&mut region, &labels.all)?;
        Ok(region)
    }

    /// `%name: type`
    pub(super) fn typed_name(&mut self) -> Read<(String, Type, Span)> {
        let at = self.cursor.span();
        let name = self.sigil(Tok::Percent, "a value")?;
        let at = self.cursor.span_from(at);
        self.take(Tok::Colon)?;
        Ok((name, self.ty()?, at))
    }

    fn args(&mut self, args: Vec<(String, Type, Span)>) -> Read<Vec<Value>> {
        let mut made = Vec::new();
        for (name, ty, at) in args {
            let value = self.module.value(name.clone(), ty);
            self.name(&name, vec![value], at)?;
            made.push(value);
        }
        Ok(made)
    }

    fn block(&mut self, args: Vec<Value>) -> Read<Block> {
        let mut ops: Vec<Op> = Vec::new();
        while !matches!(self.cursor.tok(), Tok::RBrace | Tok::Caret | Tok::Eof) {
            let op = self.op()?;
            if let Some(last) = ops.last().filter(|last| table::is_terminator(&last.name)) {
                let message = format!("`{}` stands behind `{}`, which ends its block", op.name, last.name);
                let mut fault = Diagnostic::error(codes::SYNTAX, message).at(op.span, "");
                fault.labels.push(Label { span: last.span, text: "the block ends here".to_owned() });
                return Err(Box::new(fault.help("put it before that operation, or leave it out")));
            }
            ops.push(op);
        }
        Ok(Block { args, ops })
    }

    /// Blocks by their places in the region.
    fn resolve(&mut self, region: &mut Region, labels: &[(String, Option<u32>)]) -> Read<()> {
        for op in region.blocks.iter_mut().flat_map(|block| &mut block.ops) {
            for successor in &mut op.successors {
                match labels.get(*successor as usize) {
                    Some((_, Some(0))) => {
                        return self.fault(
                            codes::VALUE,
                            op.span,
                            "the first block of a region is gone to from outside only",
                        );
                    }
                    Some((_, Some(place))) => *successor = *place,
                    Some((name, None)) => {
                        return self.fault(
                            codes::VALUE,
                            op.span,
                            format!("no block `^{}` is in the region", shorten(name)),
                        );
                    }
                    None => return self.fault(codes::VALUE, op.span, "a block outside a region"),
                }
            }
        }
        Ok(())
    }
}

/// What ends a block is written: in the generic form also where its own spelling leaves it out.
fn is_ended(
    op: &Op,
    row: &table::Row,
    (at, made): (Span, usize),
    spelled: impl Fn(&str) -> String,
) -> Read<()> {
    let Some(ends) = row.ends else { return Ok(()) };
    for (number, region) in op.regions.iter().enumerate() {
        // An operation without the other branch has an empty region for it.
        let may_be_empty = op.name == "scf.if" && number == 1 && made == 0;
        let open = |block: &&Block| match block.ops.last() {
            Some(last) => !row.is_ended_by(&last.name),
            None => !may_be_empty,
        };
        let Some(block) = region.blocks.iter().find(open) else { continue };
        let (message, place) = match block.ops.last() {
            Some(last) => {
                let place = if table::is_terminator(&last.name) { "in its place" } else { "behind it" };
                (
                    format!("a block of `{}` ends with `{}`, and `{ends}` has to end it", op.name, last.name),
                    place,
                )
            }
            None => (format!("a block of `{}` is empty, and `{ends}` has to end it", op.name), "in it"),
        };
        let fault = Diagnostic::error(codes::SYNTAX, message);
        let fault = match block.ops.last() {
            Some(last) => fault.at(last.span, "the last of the block"),
            None => fault.at(at, ""),
        };
        return Err(Box::new(fault.help(match made {
            1.. if ends == "scf.yield" => {
                format!("write `\"{ends}\"` of the values ({made}) that the block hands on {place}")
            }
            _ => format!("write {} {place}", spelled(ends)),
        })));
    }
    Ok(())
}

/// Takes the last operation of each region away where it is the one that its own spelling leaves out.
pub(super) fn drop_terminators(op: &mut Op, ends: Option<&str>) {
    let Some(ends) = ends else { return };
    for block in op.regions.iter_mut().flat_map(|region| &mut region.blocks) {
        if block.ops.last().is_some_and(|last| last.name == ends && last.operands.is_empty()) {
            block.ops.pop();
        }
    }
}

/// The types of what an operation makes, where its form does not say.
pub(super) fn made(reader: &Reader<'_>, op: &Op, row: &table::Row, told: Option<Type>) -> Read<Vec<Type>> {
    let operand = |i: usize| op.operands.get(i).map(|value| reader.module.ty(*value));
    let ty = match row.made {
        Made::Nothing => return Ok(Vec::new()),
        Made::Told => told,
        Made::Index => Some(Type::Index),
        Made::Flag => Some(Type::Int(1)),
        Made::Like(i) => operand(i).cloned(),
        Made::Element(i) => operand(i).map(|ty| ty.scalar().clone()),
        Made::Truth => operand(0).map(|ty| match ty {
            Type::Vector(shaped) => {
                Type::Vector(Shaped { element: Box::new(Type::Int(1)), ..shaped.clone() })
            }
            _ => Type::Int(1),
        }),
    };
    match ty {
        Some(ty) => Ok(vec![ty]),
        None => reader.fault(
            codes::ARITY,
            reader.cursor.last_span(),
            format!("`{}` has too few operands", op.name),
        ),
    }
}

/// No operation has this name.
pub(super) fn unknown<T>(name: &str, at: Span) -> Read<T> {
    let names = table::ROWS.iter().map(|row| row.name);
    let mut fault =
        Diagnostic::error(codes::OPERATION, format!("no operation `{}` is known here", shorten(name)))
            .at(at, "");
    if let Some(meant) = wsp_diag::did_you_mean(name, names) {
        fault = fault.help(format!("did you mean `{meant}`?"));
    }
    Err(Box::new(fault))
}
