//! Expressions, statements and tile operations.

use super::leaf::Id;
use super::node::{
    Args, Choice, Form, Names, Parsed, Text, choice, parse_choice, plain_choice, print_choice, record,
};
use super::tree::{Fault, Tree};
use crate::{
    Arg, ArrayRef, BinOp, BinaryTileOp, Const, Derivation, DerivedArray, EmitHints, Expr, ExprKind,
    ExtentSource, LaunchArray, MathFn, MetaKind, Operand, Place, PrefetchHint, ReduceOp, ScalarTy, Stmt,
    StmtKind, TileOp, UnOp, UnaryTileOp, WsSlot,
};
use wsp_core::{LocalId, ParamId};
use wsp_diag::Span;

record! {
    "slot" => WsSlot { tiers, tier, key, count, index };
    "prefetch" => PrefetchHint { value, depth, rest };
    "place" => Place { index, row_dim, col_dim };
    "from" => DerivedArray { kind, of, last };
}

choice! {
    ExprKind {
        "const" => Const(value), "param" => Param(param), "local" => Local(local), "field" => Field(local, field),
        "selector" => Selector, "unary" => Unary(op, a), "binary" => Binary(op, a, b), "chain" => Chain(first, rest), "cast" => Cast(a),
        "select" => Select(cond, a, b), "math" => Math(function, a), "load" => Load(array, index),
        "array_max" => ArrayMax(array, n), "array_sum" => ArraySum(array, n), "array_len" => ArrayLen(array),
        "call" => Call(function, args), "select_tier" => SelectTier(set, value), "alloc_ws" => AllocWs(slot),
        "max_blocks" => MaxBlocks, "axis_extent" => AxisExtent(axis), "axis_tile" => AxisTile(axis),
        "item_begin" => ItemBegin(axis), "item_end" => ItemEnd(axis), "item_count" => ItemCount(axis),
        "tile_max" => TileMax(tile), "tile_sum" => TileSum(tile), "tile_rows" => TileRows(tile),
        "tile_cols" => TileCols(tile), "load_scalar" => LoadScalar(tensor, index),
    }
    UnOp { "neg" => Neg, "not" => Not }
    BinOp {
        "add" => Add, "sub" => Sub, "mul" => Mul, "div" => Div, "rem" => Rem, "lt" => Lt, "le" => Le, "gt" => Gt,
        "ge" => Ge, "eq" => Eq, "ne" => Ne, "and" => And, "or" => Or, "bit_and" => BitAnd, "bit_or" => BitOr,
        "bit_xor" => BitXor, "shl" => Shl, "shr" => Shr, "min" => Min, "max" => Max, "ceil_div" => CeilDiv,
    }
    MathFn {
        "exp" => Exp, "exp2" => Exp2, "log" => Log, "log2" => Log2, "sqrt" => Sqrt, "abs" => Abs,
        "sin" => Sin, "cos" => Cos,
    }
    MetaKind {
        "lengths" => Lengths, "indptr" => Indptr, "indices" => Indices, "last_page_len" => LastPageLen,
    }
    ArrayRef { "local" => Local(local), "tensor" => Tensor(tensor), "meta" => Meta(cache, kind), "derived" => Derived(array) }
    Derivation { "starts" => Starts, "longest_first" => LongestFirst }
    LaunchArray { "tensor" => Tensor(tensor), "meta" => Meta(cache, kind) }
    Arg { "scalar" => Scalar(value), "array" => Array(array) }
    StmtKind {
        "let" => Let { local, init }, "let_array" => LetArray { local, array }, "assign" => Assign { local, value },
        "if" => If { cond, then, otherwise }, "for" => For { var, start, end, step, body },
        "while" => While { cond, step, body }, "break" => Break, "continue" => Continue, "return" => Return(value),
        "emit" => Emit { descriptor, fields, hints }, "fence" => Fence,
        "scheduled_for" => ScheduledFor { vars, body }, "apply_schedule" => ApplySchedule(schedule),
        "set_tile" => SetTile { axis, size }, "set_extent" => SetExtent { axis, extent, last }, "tile_op" => Tile(op),
        "store_scalar" => StoreScalar { tensor, index, value },
    }
    ExtentSource { "scalar" => Scalar(value), "per_outer" => PerOuter(array) }
    Operand { "tile" => Tile(tile), "column" => Column(tile), "row" => Row(tile), "scalar" => Scalar(value) }
}

/// Text forms of tile operations: the word of the form, then its fields.
macro_rules! tile_choice {
    ($($(#[$doc:meta])* $form:ident $word:literal {
        $($(#[$field_doc:meta])* $field:ident: $ty:ty = $role:ident $($what:literal)?,)*
    } $rest:tt)*) => {
        choice! { TileOp { $($word => $form { $($field),* }),* } }
    };
}
crate::tile::tile_forms!(tile_choice);

/// Text forms of the operations of a form: their words.
macro_rules! words {
    ($($ty:ident)*) => {$(
        impl Text for $ty {
            fn print(&self, _: Names<'_>) -> Tree {
                Tree::word(self.word())
            }

            fn parse(tree: &Tree) -> Parsed<$ty> {
                let args = Args::of(tree)?;
                let found = $ty::ALL.iter().copied().find(|op| op.word() == args.head);
                let words: Vec<&str> = $ty::ALL.iter().map(|op| op.word()).collect();
                let op = found.ok_or_else(|| args.unknown(args.head, &words))?;
                args.done()?;
                Ok(op)
            }
        }

        #[cfg(test)]
        impl crate::text::random::Random for $ty {
            fn random(bytes: &mut crate::text::random::Bytes<'_>) -> $ty {
                $ty::ALL[bytes.below($ty::ALL.len())]
            }
        }
    )*};
}
words! { UnaryTileOp BinaryTileOp ReduceOp }

plain_choice! {
    UnOp BinOp MathFn MetaKind ArrayRef Derivation LaunchArray Arg ExtentSource Operand TileOp StmtKind
}

impl Text for EmitHints {
    fn print(&self, names: Names<'_>) -> Tree {
        let EmitHints { affinity, prefetch, priority } = self;
        let mut form = Form::new("hints", names);
        form.keyword("affinity", affinity);
        form.keyword("prefetch", prefetch);
        form.keyword("priority", priority);
        form.done()
    }

    fn parse(tree: &Tree) -> Parsed<EmitHints> {
        let mut args = Args::of(tree)?;
        if args.head != "hints" {
            return Err(args.unknown(args.head, &["hints"]));
        }
        let hints = EmitHints {
            affinity: args.keyword("affinity")?,
            prefetch: args.keyword("prefetch")?,
            priority: args.keyword("priority")?,
        };
        args.done()?;
        Ok(hints)
    }

    fn is_absent(&self) -> bool {
        *self == EmitHints::default()
    }

    fn absent() -> Option<EmitHints> {
        Some(EmitHints::default())
    }
}

impl Text for Const {
    fn print(&self, _: Names<'_>) -> Tree {
        Tree::word(literal_word(*self))
    }

    fn parse(tree: &Tree) -> Parsed<Const> {
        let args = Args::of(tree)?;
        let value = literal(args.head).ok_or_else(|| Fault::new(tree.at, "expected a literal"))?;
        args.done()?;
        Ok(value)
    }
}

/// The text of a literal. That of a float is never that of an integer and reads back as the same value.
pub(super) fn literal_word(value: Const) -> String {
    match value {
        Const::Bool(value) => value.to_string(),
        Const::Int(value) => value.to_string(),
        Const::Float(value) => format!("{value:?}"),
    }
}

fn literal(word: &str) -> Option<Const> {
    match word {
        "true" => Some(Const::Bool(true)),
        "false" => Some(Const::Bool(false)),
        _ => word.parse().map(Const::Int).or_else(|_| word.parse().map(Const::Float)).ok(),
    }
}

/// An expression is the text of its kind with the type after the first word; what is frequent is shortened.
impl Text for Expr {
    fn print(&self, names: Names<'_>) -> Tree {
        let Expr { kind, ty, span: _ } = self;
        let form = |head: &str| Form::new(format!("{head}:{}", ty.name()), names);
        match kind {
            ExprKind::Const(value) => form(&literal_word(*value)).done(),
            ExprKind::Local(id) => form(&id.to_word(names)).done(),
            ExprKind::Param(id) => form(&id.to_word(names)).done(),
            ExprKind::Unary(op, a) => {
                let mut form = form(op.head());
                form.item(a);
                form.done()
            }
            ExprKind::Binary(op, a, b) => {
                let mut form = form(op.head());
                form.item(a);
                form.item(b);
                form.done()
            }
            ExprKind::Math(function, a) => {
                let mut form = form(function.head());
                form.item(a);
                form.done()
            }
            other => {
                let mut form = form(other.head());
                other.fill(&mut form);
                form.done()
            }
        }
    }

    fn parse(tree: &Tree) -> Parsed<Expr> {
        let mut args = Args::of(tree)?;
        let typed = args.head.rsplit_once(':').and_then(|(head, ty)| Some((head, scalar_ty(ty)?)));
        let Some((head, ty)) = typed else {
            return Err(Fault::new(tree.at, "expected an expression with a type, like `5:u32`"));
        };
        let kind = expr_kind(head, &mut args)?;
        args.done()?;
        Ok(Expr { kind, ty, span: Span::default() })
    }
}

fn scalar_ty(name: &str) -> Option<ScalarTy> {
    use ScalarTy::{Bool, F32, F64, I32, I64, U32, U64};
    [Bool, I32, U32, I64, U64, F32, F64].into_iter().find(|ty| ty.name() == name)
}

fn expr_kind(head: &str, args: &mut Args<'_>) -> Parsed<ExprKind> {
    if UnOp::HEADS.contains(&head) {
        return Ok(ExprKind::Unary(UnOp::take(head, args)?, args.item("operand")?));
    }
    if BinOp::HEADS.contains(&head) {
        return Ok(ExprKind::Binary(
            BinOp::take(head, args)?,
            args.item("left operand")?,
            args.item("right operand")?,
        ));
    }
    if MathFn::HEADS.contains(&head) {
        return Ok(ExprKind::Math(MathFn::take(head, args)?, args.item("operand")?));
    }
    if ExprKind::HEADS.contains(&head) {
        return ExprKind::take(head, args);
    }
    let local = LocalId::from_word(head).map(ExprKind::Local);
    let short = local.or_else(|| ParamId::from_word(head).map(ExprKind::Param));
    short.or_else(|| literal(head).map(ExprKind::Const)).ok_or_else(|| args.unknown(head, ExprKind::HEADS))
}

/// A statement is the text of its kind; a tile operation stands for itself.
impl Text for Stmt {
    fn print(&self, names: Names<'_>) -> Tree {
        let Stmt { kind, span: _ } = self;
        match kind {
            StmtKind::Tile(op) => op.print(names),
            other => other.print(names),
        }
    }

    fn parse(tree: &Tree) -> Parsed<Stmt> {
        let head = Args::of(tree)?.head;
        let kind = if TileOp::HEADS.contains(&head) {
            StmtKind::Tile(TileOp::parse(tree)?)
        } else {
            StmtKind::parse(tree)?
        };
        Ok(Stmt { kind, span: Span::default() })
    }
}
