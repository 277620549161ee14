//! A tile operation, and what its form says of its operands.

use super::{
    BinaryTileOp, CostClass, Operand, Part, Place, ReduceOp, TileExtent, TileMap, TilePart, TilePartMut,
    TileSource, TileUse, TileWork, UnaryTileOp, tile_forms,
};
use crate::{Expr, ScalarTy};
use wsp_core::{AccessKind, LocalId, TensorId};

/// What the role of a field says: how it is built, what it becomes, and what it is.
macro_rules! role {
    (build $from:ident $field:ident Count) => {
        $from.number(stringify!($field), ScalarTy::U32)?
    };
    (build $from:ident $field:ident MaybeCount) => {
        $from.optional(stringify!($field), ScalarTy::U32)?
    };
    (build $from:ident $field:ident Column) => {
        $from.number(stringify!($field), ScalarTy::I32)?
    };
    (build $from:ident $field:ident Value) => {
        $from.number(stringify!($field), ScalarTy::F32)?
    };
    (build $from:ident $field:ident From) => {
        $from.tensor(stringify!($field), AccessKind::Read)?
    };
    (build $from:ident $field:ident To) => {
        $from.tensor(stringify!($field), AccessKind::Write)?
    };
    (build $from:ident $field:ident At) => {
        $from.place(stringify!($field))?
    };
    (build $from:ident $field:ident Second) => {
        $from.operand(stringify!($field))?
    };
    (build $from:ident $field:ident Flag) => {
        $from.flag(stringify!($field))?
    };
    (build $from:ident $field:ident Unary) => {
        $from.unary()?
    };
    (build $from:ident $field:ident Binary) => {
        $from.binary()?
    };
    (build $from:ident $field:ident Reduce) => {
        $from.reduce()?
    };
    (build $from:ident $field:ident $tile:ident) => {
        $from.tile(stringify!($field))?
    };

    (map $map:ident $tensor:ident $field:ident Count) => {
        $map.number($field, ScalarTy::U32)?
    };
    (map $map:ident $tensor:ident $field:ident Column) => {
        $map.number($field, ScalarTy::I32)?
    };
    (map $map:ident $tensor:ident $field:ident Value) => {
        $map.number($field, ScalarTy::F32)?
    };
    (map $map:ident $tensor:ident $field:ident MaybeCount) => {
        $field.as_ref().map(|number| $map.number(number, ScalarTy::U32)).transpose()?
    };
    (map $map:ident $tensor:ident $field:ident Second) => {
        match $field {
            Operand::Tile(tile) => Operand::Tile($map.tile(tile)?),
            Operand::Column(tile) => Operand::Column($map.tile(tile)?),
            Operand::Row(tile) => Operand::Row($map.tile(tile)?),
            Operand::Scalar(value) => Operand::Scalar($map.number(value, ScalarTy::F32)?),
        }
    };
    (map $map:ident $tensor:ident $field:ident At) => {
        $map.place($tensor, $field)?
    };
    (map $map:ident $tensor:ident $field:ident From) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident To) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident Flag) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident Unary) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident Binary) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident Reduce) => {
        *$field
    };
    (map $map:ident $tensor:ident $field:ident $tile:ident) => {
        $map.tile($field)?
    };

    (part $f:ident $adds:ident $field:ident In) => {
        $f(Part::Tile($field, TileUse::Read))
    };
    (part $f:ident $adds:ident $field:ident Out) => {
        $f(Part::Tile($field, TileUse::Written))
    };
    (part $f:ident $adds:ident $field:ident InOut) => {
        $f(Part::Tile($field, TileUse::Changed))
    };
    (part $f:ident $adds:ident $field:ident List) => {
        $f(Part::Tile($field, TileUse::Listed))
    };
    (part $f:ident $adds:ident $field:ident Sum) => {
        $f(Part::Tile($field, if $adds { TileUse::Added } else { TileUse::Written }))
    };
    (part $f:ident $adds:ident $field:ident From) => {
        $f(Part::Tensor($field, AccessKind::Read))
    };
    (part $f:ident $adds:ident $field:ident To) => {
        $f(Part::Tensor($field, AccessKind::Write))
    };
    (part $f:ident $adds:ident $field:ident At) => {
        $f(Part::Place($field))
    };
    (part $f:ident $adds:ident $field:ident Count) => {
        $f(Part::Number($field, ScalarTy::U32, COUNT))
    };
    (part $f:ident $adds:ident $field:ident Count $what:literal) => {
        $f(Part::Number($field, ScalarTy::U32, $what))
    };
    (part $f:ident $adds:ident $field:ident MaybeCount) => {
        if let Some(number) = $field {
            $f(Part::Number(number, ScalarTy::U32, COUNT));
        }
    };
    (part $f:ident $adds:ident $field:ident Column $what:literal) => {
        $f(Part::Number($field, ScalarTy::I32, $what))
    };
    (part $f:ident $adds:ident $field:ident Value) => {
        $f(Part::Number($field, ScalarTy::F32, VALUE))
    };
    (part $f:ident $adds:ident $field:ident Second) => {
        match $field {
            Operand::Tile(tile) | Operand::Column(tile) | Operand::Row(tile) => {
                $f(Part::Tile(tile, TileUse::Read));
            }
            Operand::Scalar(value) => $f(Part::Number(value, ScalarTy::F32, VALUE)),
        }
    };
    (part $f:ident $adds:ident $field:ident Flag) => {
        let _ = $field;
    };
    (part $f:ident $adds:ident $field:ident Unary) => {
        let _ = $field;
    };
    (part $f:ident $adds:ident $field:ident Binary) => {
        let _ = $field;
    };
    (part $f:ident $adds:ident $field:ident Reduce) => {
        let _ = $field;
    };

    (extent Exactly($number:ident)) => {
        TileExtent::Exactly($number.as_ref())
    };
    (extent AtMost($number:ident)) => {
        TileExtent::AtMost($number.as_ref())
    };
    (extent Outer($tile:ident, $flag:ident)) => {
        TileExtent::Outer(*$tile, *$flag)
    };
    (extent $extent:ident()) => {
        TileExtent::$extent
    };
    (extent $extent:ident($tile:ident)) => {
        TileExtent::$extent(*$tile)
    };
}

const COUNT: &str = "a row or column count";
const VALUE: &str = "a value that meets a tile";

macro_rules! declare {
    ($($(#[$doc:meta])* $form:ident $word:literal {
        $($(#[$field_doc:meta])* $field:ident: $ty:ty = $role:ident $($what:literal)?,)*
    } [
        $(gives $rows:ident($($of_rows:ident),*), $cols:ident($($of_cols:ident),*);)?
        work $work:ident($($of_work:ident),*), cost $cost:ident $(; apart $apart:literal)?
    ])*) => {
        /// A tile operation.
        ///
        /// A tile has a capacity (its type) and a valid part `rows × cols`. Operations read and write valid parts only; a
        /// destination's valid part becomes that of the result, which must fit its capacity. Arithmetic is in `f64` where a tile of
        /// the operation has such elements, else in `f32`; a result is rounded to the element type of its destination. That of integers wraps;
        /// which tiles may hold integers is in [`check_elements`](crate::check_elements).
        ///
        /// `T` is a tile, `E` a number, `P` a place in a tensor: variables and expressions in the IR, what they were resolved to
        /// in a kernel that runs.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum TileOp<T = LocalId, E = Expr, P = Place> {
            $($(#[$doc])* $form { $($(#[$field_doc])* $field: $ty,)* },)*
        }

        impl<T, E, P> TileOp<T, E, P> {
            /// The words of all forms.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word of its form.
            pub fn word(&self) -> &'static str {
                match self {
                    $(TileOp::$form { .. } => $word,)*
                }
            }

            /// The operation of the form with this word, from operands that are asked for in the order of the fields; none where
            /// there is no such form.
            ///
            /// # Errors
            /// The first of an operand.
            pub fn build<S: TileSource<T, E, P>>(word: &str, from: &mut S) -> Result<Option<Self>, S::Error> {
                Ok(Some(match word {
                    $($word => TileOp::$form { $($field: role!(build from $field $role)),* },)*
                    _ => return Ok(None),
                }))
            }

            /// The same operation on other operands.
            ///
            /// # Errors
            /// The first of an operand.
            pub fn map<'a, T2, E2, P2, M>(&'a self, map: &mut M) -> Result<TileOp<T2, E2, P2>, M::Error>
            where
                M: TileMap<'a, T, E, P, T2, E2, P2>,
            {
                let tensor = self.tensor().map_or(TensorId(0), |(tensor, _)| tensor);
                Ok(match self {
                    $(TileOp::$form { $($field),* } => {
                        TileOp::$form { $($field: role!(map map tensor $field $role)),* }
                    })*
                })
            }

            /// What kind of work operations of its form are.
            fn class_of_form(&self) -> CostClass {
                match self {
                    $(TileOp::$form { .. } => CostClass::$cost,)*
                }
            }

            /// Whether its result is added to what is there.
            fn adds(&self) -> bool {
                matches!(self, TileOp::MatMul { accumulate: true, .. })
            }

            /// Calls `f` on every operand, in the order of the fields.
            pub fn each<'a>(&'a self, f: &mut dyn FnMut(TilePart<'a, T, E, P>)) {
                let adds = self.adds();
                match self {
                    $(TileOp::$form { $($field),* } => { $(role!(part f adds $field $role $($what)?);)* })*
                }
            }

            /// Calls `f` on every operand, for change in place.
            pub fn each_mut<'a>(&'a mut self, f: &mut dyn FnMut(TilePartMut<'a, T, E, P>)) {
                let adds = self.adds();
                match self {
                    $(TileOp::$form { $($field),* } => { $(role!(part f adds $field $role $($what)?);)* })*
                }
            }

            /// Why no two of its tiles may be the same, where that is so.
            pub fn apart(&self) -> Option<&'static str> {
                let apart: &[&'static str] = match self {
                    $(TileOp::$form { .. } => &[$($apart)?],)*
                };
                apart.first().copied()
            }
        }

        impl<T: Copy, E, P> TileOp<T, E, P> {
            /// Rows and columns of its results; none where nothing gets a new valid part.
            pub fn gives(&self) -> Option<(TileExtent<'_, T, E>, TileExtent<'_, T, E>)> {
                let mut found = None;
                match self {
                    $(TileOp::$form { $($field),* } => {
                        $(let _ = $field;)*
                        $(found = Some((
                            role!(extent $rows($($of_rows),*)),
                            role!(extent $cols($($of_cols),*)),
                        ));)?
                    })*
                }
                found
            }

            /// How much it does at most.
            pub fn work(&self) -> TileWork<T> {
                match self {
                    $(TileOp::$form { $($of_work,)* .. } => TileWork::$work($(*$of_work),*),)*
                }
            }

            /// Its tiles: what it reads first, what it changes last.
            fn tiles_that(&self, test: impl Fn(TileUse) -> bool) -> impl Iterator<Item = T> {
                let (mut tiles, mut changed) = (Vec::new(), Vec::new());
                self.each(&mut |part| match part {
                    Part::Tile(tile, TileUse::Read) if test(TileUse::Read) => tiles.push(*tile),
                    Part::Tile(tile, used) if test(used) => changed.push(*tile),
                    _ => {}
                });
                tiles.into_iter().chain(changed)
            }

            /// The tiles that must have elements; those that it writes as well come last.
            pub fn reads(&self) -> impl Iterator<Item = T> {
                self.tiles_that(TileUse::reads)
            }

            /// The tiles that have elements of it afterwards.
            pub fn writes(&self) -> impl Iterator<Item = T> {
                self.tiles_that(TileUse::writes)
            }

            /// The tiles whose valid part becomes that of the result.
            pub fn resizes(&self) -> impl Iterator<Item = T> {
                self.tiles_that(TileUse::resizes)
            }
        }
    };
}

tile_forms!(declare);

impl<T, E, P> TileOp<T, E, P> {
    /// What kind of work it is, of which a machine model says what it costs.
    pub fn cost_class(&self) -> CostClass {
        match self {
            TileOp::Unary { op, .. } => op.cost_class(),
            TileOp::Binary { op, .. } => op.cost_class(),
            _ => self.class_of_form(),
        }
    }

    /// The tensor that it loads from or stores to.
    pub fn tensor(&self) -> Option<(TensorId, AccessKind)> {
        let mut found = None;
        self.each(&mut |part| {
            if let Part::Tensor(tensor, access) = part {
                found = Some((*tensor, access));
            }
        });
        found
    }

    /// What it does with its tensor: an addition loads and stores.
    pub fn accesses(&self) -> impl Iterator<Item = (TensorId, AccessKind)> {
        let adds = matches!(self, TileOp::Store { add: true, .. });
        let (read, tensor) = (AccessKind::Read, self.tensor());
        tensor.filter(|_| adds).map(|(tensor, _)| (tensor, read)).into_iter().chain(tensor)
    }

    /// The tensor that it loads from or stores to, for change in place.
    pub fn tensor_mut(&mut self) -> Option<&mut TensorId> {
        let mut found = None;
        self.each_mut(&mut |part| {
            if let Part::Tensor(tensor, _) = part {
                found = Some(tensor);
            }
        });
        found
    }
}

impl TileOp {
    /// Calls `f` on every expression, those of indices included.
    pub fn exprs<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        self.each(&mut |part| match part {
            Part::Number(number, ..) => f(number),
            Part::Place(place) => place.index.iter().for_each(&mut *f),
            Part::Tile(..) | Part::Tensor(..) => {}
        });
    }

    /// Calls `f` on every expression, for change in place.
    pub fn exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.each_mut(&mut |part| match part {
            Part::Number(number, ..) => f(number),
            Part::Place(place) => place.index.iter_mut().for_each(&mut *f),
            Part::Tile(..) | Part::Tensor(..) => {}
        });
    }
}
