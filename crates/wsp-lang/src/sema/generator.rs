//! What only descriptor generators do: emit, reserve workspace, apply schedules, set tiles and extents.

use super::Sema;
use super::body::{AddedIndex, Binding, Body, BodyKind, KeyForm, Loop};
use super::builtins::{Builtin, BuiltinFn};
use super::codes;
use super::convert::constant;
use super::diags::{Reported, Res};
use super::names::{Symbol, quoted};
use super::walk::each_subexpr;
use crate::ast::{self, ExprKind, FieldInit, Ident};
use wsp_core::words::counted;
use wsp_core::{AxisId, LocalId, SpaceId, StructId, TierSetId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    BinOp, Const, EmitHints, Expr, ExprKind as Ir, ExtentSource, LocalTy, ScalarTy, StmtKind, TileSize,
    WsSlot,
};
use wsp_ordered::OrderedSet;

/// What the third argument of `PTO_SET_EXTENT` is.
const LAST: &str = "the number of last elements";

impl Sema<'_> {
    /// A predefined function as a statement; none when it is only good for its value.
    pub(crate) fn builtin_statement(
        &mut self,
        b: &mut Body,
        builtin: &BuiltinFn,
        callee: &Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Res<Option<StmtKind>> {
        if !matches!(
            builtin.does,
            Builtin::Emit | Builtin::ApplySchedule | Builtin::SetTile | Builtin::SetExtent | Builtin::Launch
        ) {
            return Ok(None);
        }
        self.check_call(b, builtin, callee, args, span)?;
        let kind = match builtin.does {
            Builtin::Emit => self.emit(b, &args[0], span)?,
            Builtin::ApplySchedule => self.apply_schedule(b, &args[0], span)?,
            Builtin::SetTile => self.set_tile(b, args)?,
            Builtin::SetExtent => self.set_extent(b, args)?,
            _ => return Err(self.not_here(callee, "only the host entry launches")),
        };
        Ok(Some(kind))
    }

    fn apply_schedule(&mut self, b: &Body, arg: &ast::Expr, span: Span) -> Res<StmtKind> {
        let ident = self.name_argument(arg, "a schedule")?;
        let id =
            self.expect_symbol(&ident, "a schedule", codes::UNKNOWN_SCHEDULE, |symbol| match symbol {
                Symbol::Schedule(id) => Some(id),
                _ => None,
            })?;
        if let BodyKind::Generator(space) = b.kind {
            self.check_applied(id, space, span);
        }
        Ok(StmtKind::ApplySchedule(id))
    }

    fn set_tile(&mut self, b: &mut Body, args: &[ast::Expr]) -> Res<StmtKind> {
        let axis = self.axis_argument(b, &args[0]);
        let size = self.scalar_as(b, &args[1], ScalarTy::U32);
        let axis = axis?;
        let def = &self.module.axes[axis.index()];
        let name = def.name.clone();
        let problem = match &def.tile {
            None => Some((
                def.span,
                "it has no `PTO_TILE`",
                format!("add `PTO_TILE({name}, PTO_AUTO)` to the space"),
            )),
            Some(tile) => match tile.size {
                TileSize::Auto => None,
                TileSize::Fixed(_) => Some((
                    tile.span,
                    "its tile size is fixed",
                    format!("write `PTO_TILE({name}, PTO_AUTO)` there"),
                )),
            },
        };
        if let Some((at, why, help)) = problem {
            return Err(self.fail(
                Diagnostic::error(codes::NOT_AUTO_TILED, format!("the tile of axis `{name}` cannot be set"))
                    .at(args[0].span, why)
                    .label(at, "declared here")
                    .help(help),
            ));
        }
        Ok(StmtKind::SetTile { axis, size: size? })
    }

    /// `PTO_ITEM_BEGIN(axis)`, `PTO_ITEM_END(axis)`, `PTO_ITEM_COUNT(axis)`.
    pub(crate) fn item(
        &mut self,
        b: &mut Body,
        callee: &Ident,
        axis: &ast::Expr,
        kind: fn(AxisId) -> Ir,
        span: Span,
    ) -> Res<Expr> {
        let axis = self.axis_argument(b, axis)?;
        if b.kind != BodyKind::Probe && !b.loops.iter().any(|l| l.scheduled) {
            return Err(self.not_here(callee, "only the body of `PTO_SCHEDULED_FOR` has a current item"));
        }
        Ok(Expr::new(kind(axis), ScalarTy::U32, span))
    }

    fn set_extent(&mut self, b: &mut Body, args: &[ast::Expr]) -> Res<StmtKind> {
        let axis = self.axis_argument(b, &args[0])?;
        if !self.is_dynamic(axis) {
            let def = &self.module.axes[axis.index()];
            let d = Diagnostic::error(
                codes::WRONG_AXIS_KIND,
                format!("the extent of axis `{}` is fixed", def.name),
            )
            .at(args[0].span, "only dynamic axes have their extent set")
            .label(def.span, "its end is given here")
            .help("declare its end as `PTO_DYNAMIC`");
            return Err(self.fail(d));
        }
        let extent = match self.is_array(b, &args[1]) {
            true => ExtentSource::PerOuter(self.array(b, &args[1])?.0),
            false => ExtentSource::Scalar(self.scalar_as(b, &args[1], ScalarTy::U32)?),
        };
        let last = args.get(2).map(|last| self.launch_value(b, last, ScalarTy::U32, LAST)).transpose()?;
        Ok(StmtKind::SetExtent { axis, extent, last })
    }

    fn emit(&mut self, b: &mut Body, arg: &ast::Expr, span: Span) -> Res<StmtKind> {
        let (ty, fields): (Option<&Ident>, &[FieldInit]) = match &arg.kind {
            ExprKind::Init { ty, fields } => (ty.as_ref(), fields),
            ExprKind::Braces(list) if list.is_empty() => (None, &[]),
            _ => {
                return Err(self.fail(
                    Diagnostic::error(codes::BAD_ARGUMENT, "a descriptor is needed")
                        .at(arg.span, "not a descriptor")
                        .help("write `T{.field = value, …}`"),
                ));
            }
        };
        let of = match ty {
            Some(ident) => self.struct_named(ident)?,
            None => self.guess_struct(fields, arg.span)?,
        };
        self.emitted.push((of, span));
        let fields = self.field_values(b, of, fields, arg.span)?;
        Ok(StmtKind::Emit { descriptor: of, fields, hints: EmitHints::default() })
    }

    /// The descriptor type with this name.
    pub(crate) fn struct_named(&mut self, ident: &Ident) -> Res<StructId> {
        if self.lookup(ident.as_str()).is_none() {
            // Reported as a type, with the types that are near.
            let ty = ast::Type {
                is_const: false,
                base: ast::TypeBase::Named(ident.clone()),
                args: Vec::new(),
                indirection: ast::Indirection::None,
                span: ident.span,
            };
            self.head(&ty)?;
        }
        self.expect_symbol(ident, "a descriptor type", codes::UNKNOWN_TYPE, |symbol| match symbol {
            Symbol::Struct(id) => Some(id),
            _ => None,
        })
    }

    /// The only type with exactly these fields, or the only type.
    fn guess_struct(&mut self, fields: &[FieldInit], span: Span) -> Res<StructId> {
        let given: OrderedSet<&str> = fields.iter().map(|f| f.field.as_str()).collect();
        let fits: Vec<usize> = (0..self.structs.len())
            .filter(|s| self.structs[*s].fields.iter().map(|f| &*f.name).collect::<OrderedSet<_>>() == given)
            .collect();
        match (&fits[..], self.structs.len()) {
            ([only], _) => Ok(StructId(*only as u32)),
            ([], 1) => Ok(StructId(0)),
            _ => {
                let names: Vec<&str> = self.structs.iter().map(|s| s.decl.name.as_str()).collect();
                let message = if fits.is_empty() {
                    "no descriptor type has these fields"
                } else {
                    "several descriptor types have these fields"
                };
                let d = Diagnostic::error(codes::UNCLEAR_DESCRIPTOR, message)
                    .at(span, "which type is meant is not clear");
                let d = match names.is_empty() {
                    true => d.help("declare one: `struct MyDescriptor { uint32_t tier; … };`"),
                    false => d
                        .note(format!("there are {}", quoted(&names)))
                        .help("name the type: `T{.field = value, …}`"),
                };
                Err(self.fail(d))
            }
        }
    }

    fn field_values(
        &mut self,
        b: &mut Body,
        of: StructId,
        inits: &[FieldInit],
        span: Span,
    ) -> Res<Vec<Expr>> {
        let words = self.module.structs[of.index()].fields.len();
        let mut values: Vec<Option<Expr>> = vec![None; words];
        let mut first: Vec<Option<Span>> = vec![None; words];
        let mut wrong = None;
        for init in inits {
            if let Err(reported) = self.field_value(b, of, init, &mut values, &mut first) {
                wrong = Some(reported);
            }
        }
        if self.structs[of.index()].broken {
            wrong = Some(Reported::earlier(&self.diags));
        }
        if let Some(reported) = wrong {
            return Err(reported);
        }
        let missing: Vec<String> = self
            .field_names(of)
            .into_iter()
            .zip(&first)
            .filter(|(_, seen)| seen.is_none())
            .map(|(name, _)| name)
            .collect();
        if missing.is_empty() {
            return Ok(values.into_iter().flatten().collect());
        }
        let def = &self.module.structs[of.index()];
        let help: Vec<String> = missing.iter().take(8).map(|name| format!(".{name} = …")).collect();
        let d = Diagnostic::error(
            codes::MISSING_FIELD,
            format!("`{}` is emitted without {}", def.name, quoted(&missing)),
        )
        .at(span, "fields are missing")
        .label(def.span, "the descriptor")
        .help(format!("add `{}`", help.join(", ")));
        Err(self.fail(d))
    }

    fn field_value(
        &mut self,
        b: &mut Body,
        of: StructId,
        init: &FieldInit,
        values: &mut [Option<Expr>],
        first: &mut [Option<Span>],
    ) -> Res<()> {
        let (word, len) = self.field_of(of, &init.field)?;
        let name = init.field.as_str();
        let items: Vec<(u32, &ast::Expr)> = match (len, &init.index, &init.value.kind) {
            (None, None, _) => vec![(word, &init.value)],
            (Some(len), None, ExprKind::Braces(list)) if list.len() == len as usize => {
                (word..).zip(list).collect()
            }
            (Some(len), None, _) => {
                let help = format!("give {len}: `.{name} = {{…}}`", len = counted(len, "value"));
                return Err(self.mismatch(
                    init.value.span,
                    "this",
                    &format!("a list of {len}", len = counted(len, "value")),
                    Some(help),
                ));
            }
            (None, Some(index), _) => {
                return Err(self.mismatch(
                    index.span,
                    &format!("`{name}`, a single field,"),
                    "an array field",
                    None,
                ));
            }
            (Some(len), Some(index), _) => {
                let at = self.launch_value(b, index, ScalarTy::U32, "the index of a descriptor field")?;
                match at.as_const_int().and_then(|v| u32::try_from(v).ok()).filter(|v| *v < len) {
                    Some(at) => vec![(word + at, &init.value)],
                    None => {
                        return Err(self.bad_argument(
                            index.span,
                            &format!("`{name}` has {len}", len = counted(len, "element")),
                        ));
                    }
                }
            }
        };
        for (word, value) in items {
            let slot = word as usize;
            if let Some(earlier) = first[slot] {
                return Err(self.fail(
                    Diagnostic::error(codes::DUPLICATE_FIELD, format!("field `{name}` is set twice"))
                        .at(init.field.span, "again here")
                        .label(earlier, "first here"),
                ));
            }
            first[slot] = Some(init.field.span);
            values[slot] = Some(self.scalar_as(b, value, ScalarTy::U32)?);
        }
        Ok(())
    }

    /// `PTO_ALLOC_WS(tier, …)`.
    ///
    /// In a `PTO_SCHEDULED_FOR` over a space with a dynamic axis the slots of that axis lie side by side: the argument
    /// at its place is the index, the others are the key. Elsewhere every index is part of the key. Indices of
    /// enclosing loops that the call does not mention belong to the key too, or their tasks would share a slot. Which loops
    /// these are is a part of the key: an index of one loop is not that of another.
    pub(crate) fn alloc_ws(&mut self, b: &mut Body, args: &[ast::Expr], span: Span) -> Res<Expr> {
        let tier = self.scalar_as(b, &args[0], ScalarTy::U32);
        let given: Vec<Res<Expr>> = args[1..].iter().map(|e| self.scalar_as(b, e, ScalarTy::U32)).collect();
        let tier = tier?;
        let tiers = self.tiers_of(b, &tier, args[0].span)?;
        let mut key: Vec<Expr> = given.into_iter().collect::<Res<_>>()?;
        let scheduled = b.loops.iter().position(|l| l.scheduled);
        let dynamic = match (scheduled, b.kind) {
            (Some(at), BodyKind::Generator(space)) => self.dynamic_place(space).map(|axis| (at, space, axis)),
            _ => None,
        };
        let mut slot = (Expr::u32(1, span), Expr::u32(0, span));
        let mut covered: Vec<LocalId> = Vec::new();
        if let Some((at, space, place)) = dynamic {
            let vars = b.loops[at].vars.clone();
            self.check_places(args, vars.len(), space, span)?;
            // Arguments stand for the axes in order; those left out are the current indices.
            for var in vars.iter().skip(key.len()) {
                key.push(Expr::local(*var, ScalarTy::U32, span));
            }
            if place < key.len() {
                let axis = self.module.spaces[space.index()].axes[place];
                slot = (Expr::new(Ir::AxisExtent(axis), ScalarTy::U32, span), key.remove(place));
            }
            covered = vars;
        }
        let mut form = KeyForm { tiers, grouped: dynamic.is_some(), given: key.len(), added: Vec::new() };
        let indices = |l: &Loop| {
            let of = |at, var| if l.scheduled { AddedIndex::Axis(at) } else { AddedIndex::Loop(var) };
            l.vars.iter().enumerate().map(|(at, var)| (*var, of(at, *var))).collect::<Vec<_>>()
        };
        // By the text: what folding leaves of `1 ? a : i` has no `i`.
        let mentioned = mentioned(b, &args[1..]);
        for (var, index) in b.loops.iter().flat_map(indices).collect::<Vec<_>>() {
            if !mentioned.contains(&var) && !covered.contains(&var) {
                form.added.push(index);
                key.extend(self.key_of(b, var, span)?);
            }
        }
        self.warn_of_shared_slot(b, &mentioned, span);
        let words = b.key_words(form, key.len());
        key.resize(words, Expr::u32(0, span));
        let (count, index) = slot;
        let slot = WsSlot { tiers, tier, key, count, index };
        Ok(Expr::new(Ir::AllocWs(Box::new(slot)), ScalarTy::U32, span))
    }

    /// Warns where all rounds of a loop without an index have one slot: no argument mentions a variable that may tell them apart.
    fn warn_of_shared_slot(&mut self, b: &Body, mentioned: &OrderedSet<LocalId>, span: Span) {
        let is_index = |var: &LocalId| b.loops.iter().any(|l| l.vars.contains(var));
        if b.loops.iter().all(|l| !l.vars.is_empty()) || !mentioned.iter().all(is_index) {
            return;
        }
        let message = "all rounds of a loop share this slot";
        self.diags.warn(
            Diagnostic::warning(codes::SHARED_SLOT, message)
                .at(span, "the loop around it has no integer index that would be added to the arguments")
                .help("give the number of the round as an argument, or write `for (uint32_t i = 0; i < n; i++)`"),
        );
    }

    /// The current index of a loop around a slot as words of its key, other ones for every other value: signed ones are counted from
    /// the least, those of 64 bits are two words.
    fn key_of(&mut self, b: &Body, var: LocalId, span: Span) -> Res<Vec<Expr>> {
        let local = &b.locals[var.index()];
        let LocalTy::Scalar(ty) = local.ty else {
            unreachable!("a loop variable is a scalar, not {:?}", local.ty)
        };
        if ty.is_float() {
            return Err(self.float_index(&local.name, local.span, span));
        }
        let number = |value: i128, ty| constant(Const::Int(value), ty, span);
        let index = Expr::local(var, ty, span);
        let mut words = match ty {
            ScalarTy::I32 => vec![self.convert(index, ScalarTy::I64)?],
            ScalarTy::I64 | ScalarTy::U64 => vec![
                Expr::binary(BinOp::Shr, index.clone(), number(32, ty)),
                Expr::binary(BinOp::BitAnd, index, number(u32::MAX.into(), ty)),
            ],
            _ => vec![index],
        };
        if words[0].ty == ScalarTy::I64 {
            let first = words.remove(0);
            words.insert(0, Expr::binary(BinOp::Add, first, number(1 << 31, ScalarTy::I64)));
        }
        words.into_iter().map(|word| self.convert(word, ScalarTy::U32)).collect()
    }

    fn float_index(&mut self, name: &str, declared: Span, span: Span) -> Reported {
        self.fail(
            Diagnostic::error(codes::FLOAT_INDEX, format!("`{name}`, the index of a loop around a slot, is a float"))
                .at(span, "has a slot for every round")
                .label(declared, "floats do not tell rounds apart")
                .help("count the rounds with an integer, `for (uint32_t i = 0; i < n; i++)`, or give the number of the round as an argument"),
        )
    }

    /// The place of the dynamic axis among the axes of a space.
    fn dynamic_place(&self, space: SpaceId) -> Option<usize> {
        self.module.spaces[space.index()].axes.iter().position(|axis| self.is_dynamic(*axis))
    }

    fn check_places(&mut self, args: &[ast::Expr], axes: usize, space: SpaceId, span: Span) -> Res<()> {
        if args.len() - 1 <= axes {
            return Ok(());
        }
        let name = self.module.spaces[space.index()].name.clone();
        Err(self.fail(
            Diagnostic::error(
                codes::ARGUMENT_COUNT,
                format!("{} for {axes}", counted(args.len() - 1, "index"), axes = counted(axes, "axis")),
            )
            .at(span, format!("space `{name}` has {axes}", axes = counted(axes, "axis")))
            .help("after the tier, give one index per axis, in the order of the space"),
        ))
    }

    /// The set that a tier belongs to: the one it was selected from, else the only one.
    fn tiers_of(&mut self, b: &Body, tier: &Expr, span: Span) -> Res<TierSetId> {
        let selected = match tier.kind {
            Ir::SelectTier(set, _) => Some(set),
            Ir::Local(local) => b.tier_of.get(&local).copied().flatten(),
            _ => None,
        };
        match (selected, self.module.tier_sets.len()) {
            (Some(set), _) => Ok(set),
            (None, 1) => Ok(TierSetId(0)),
            (None, sets) => {
                let message = if sets == 0 {
                    "there is no tier set"
                } else {
                    "of which tier set this is a tier is not clear"
                };
                Err(self.fail(
                    Diagnostic::error(codes::AMBIGUOUS_TIERS, message)
                        .at(span, "decides the size of the workspace")
                        .help("take it from `PTO_SELECT_TIER(set, value)`"),
                ))
            }
        }
    }

    /// The descriptor that `PTO_GET_DESCRIPTOR<T>()`, or the name of one, yields.
    pub(crate) fn descriptor(&mut self, b: &Body, e: &ast::Expr) -> Res<(LocalId, StructId)> {
        if let Some(found) = self.descriptor_of(b, e)? {
            return Ok(found);
        }
        let ExprKind::Call { callee, args, .. } = &e.kind else {
            return Err(self.mismatch(e.span, "this", "a descriptor", None));
        };
        let Some(builtin) =
            super::builtins::find(callee.as_str()).filter(|f| f.does == Builtin::GetDescriptor)
        else {
            return Err(self.mismatch(e.span, "the result of a call", "a descriptor", None));
        };
        self.check_call(b, builtin, callee, args, e.span)?;
        match b.descriptor {
            Some(of) if !b.inlined && b.kind == BodyKind::Kernel => Ok((LocalId(0), of)),
            _ if b.inlined || b.kind == BodyKind::Probe => {
                Err(self.not_here(callee, "an inline function takes it as a parameter: `const T& desc`"))
            }
            // The kernel asks for no type that can be found, which has been reported.
            _ => Err(Reported::earlier(&self.diags)),
        }
    }
}

/// Scalar variables that expressions mention.
fn mentioned(b: &Body, args: &[ast::Expr]) -> OrderedSet<LocalId> {
    let mut found = OrderedSet::new();
    for arg in args {
        each_subexpr(arg, &mut |e| {
            if let ExprKind::Name(name) = &e.kind
                && let Some(Binding::Scalar { local, .. }) = b.find(name)
            {
                found.insert(*local);
            }
        });
    }
    found
}
