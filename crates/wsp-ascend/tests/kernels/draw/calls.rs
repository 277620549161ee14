//! Calls of each form of operations.

use super::{COMPOSED, FARTHEST, MOST, MOST_ROUGH, ROUNDED, SHAPES, Shape, Text, Tile};
use wsp_ir::{BinaryTileOp, PtoWord, ReduceOp, TileOpKind, TileOpRow, UnaryTileOp};

/// A result that is no whole number: its largest element and its distance.
type Rough = (f64, f64);

impl Text {
    /// A call of an operation, with what its operands and its result need.
    pub(super) fn call(&mut self, row: &TileOpRow, word: &PtoWord) {
        let name = word.name;
        match (row.form, row.kind) {
            ("unary", TileOpKind::Unary(op)) => self.unary(op, name),
            ("binary", TileOpKind::Binary(op)) => self.binary(op, word),
            ("row_reduce", TileOpKind::Reduce(op)) => {
                self.reduce(op, name, [Shape::Wide, Shape::Column], Shape::Column)
            }
            ("col_reduce", TileOpKind::Reduce(op)) => {
                self.reduce(op, name, [Shape::Wide, Shape::Row], Shape::Row)
            }
            ("load", _) => {
                let shape = self.one_of(&SHAPES);
                self.load(shape);
            }
            ("store", _) => {
                let shape = self.one_of(&SHAPES);
                let tile = self.tile(shape, word.flag.is_none());
                self.store(&tile, name);
            }
            ("fill", _) => {
                let shape = self.one_of(&SHAPES);
                let [rows, cols] = self.valid(shape);
                let value = self.value();
                let to = self.target(shape);
                self.say(format!("{name}({to}, {value}, {rows}, {cols});"));
            }
            ("clamp", _) => self.moved(name, &SHAPES, |src, to| format!("({to}, {src}, -3.0f, 5.0f)")),
            ("select", _) => self.select(name),
            ("cumsum", _) => {
                let shape = self.one_of(&SHAPES);
                let src = self.tile(shape, true);
                let length = self.capacity(shape)[1] as f64;
                let rough = src.rough.map(|far| (src.most * length, far * length));
                self.result(shape, rough, true, |to| format!("{name}({to}, {});", src.name));
            }
            ("gather", _) => self.gather(name, word.flag.is_some()),
            ("reshape", _) => {
                let (from, to) = self.one_of(&[(Shape::Wide, Shape::Turned), (Shape::Turned, Shape::Wide)]);
                let src = self.tile(from, true);
                let of = &src.name;
                let call =
                    |to: &str| format!("{name}({to}, {of}, PTO_VALID_COLS({of}), PTO_VALID_ROWS({of}));");
                self.result_apart(to, of, src.rough.map(|far| (src.most, far)), false, call);
            }
            ("random", _) => {
                let [rows, cols] = self.valid(Shape::Wide);
                let to = self.rough(Shape::Wide, 1.0, 0.0);
                self.say(format!("{name}({to}, desc.a, desc.b, 100, {rows}, {cols});"));
                self.close(&to);
            }
            ("transpose", _) => {
                let (from, to) = self.one_of(&[(Shape::Wide, Shape::Turned), (Shape::Turned, Shape::Wide)]);
                let src = self.tile(from, true);
                let call = |to: &str| format!("{name}({to}, {});", src.name);
                self.result(to, src.rough.map(|far| (src.most, far)), false, call);
            }
            ("mask" | "mask_causal" | "mask_band", _) => self.mask(row.form, name),
            ("iota", _) => {
                let start = self.whole(9);
                // All rows become valid.
                let shape = if self.open[0] { Shape::Row } else { self.one_of(&[Shape::Row, Shape::Wide]) };
                let [_, cols] = self.valid(shape);
                let to = self.target(shape);
                self.say(format!("{name}({to}, {start}, {cols});"));
            }
            ("insert", _) => self.insert(name),
            ("extract", _) => {
                let shape = self.one_of(&SHAPES);
                let src = self.tile(shape, true);
                let of = &src.name;
                let row = self.one_of(&["0", "PTO_VALID_ROWS() - 1", "PTO_VALID_ROWS() / 2"]);
                let col = self.one_of(&["0", "PTO_VALID_COLS() - 1", "PTO_VALID_COLS() / 2"]);
                let [row, col] = [row, col].map(|e| e.replace("()", &format!("({of})")));
                let part = self.fresh_name("e");
                let (at, place) = (self.numbers.below(25), self.row());
                self.say(format!("VecTile<float, 4, 8> {part}; {name}({part}, {of}, {row}, {col});"));
                self.say(format!("TSTORE(y, {part}, {{{place}, {at}}});"));
                self.stored(&src);
            }
            ("top_k", _) => self.top_k(name),
            ("matmul", _) => self.product(name),
            (other, _) => panic!("the form `{other}` is not drawn"),
        }
    }

    /// A whole number as `float`.
    fn value(&mut self) -> String {
        match self.numbers.below(3) {
            0 if !self.loops.is_empty() => format!("1.0f * {} - 2.0f", self.loops[0]),
            _ => format!("{}.0f", self.whole(9)),
        }
    }

    /// A result of a shape: a tile of whole numbers, which is clamped where it may be too large, or one of its own.
    fn result(&mut self, shape: Shape, rough: Option<Rough>, grows: bool, call: impl Fn(&str) -> String) {
        self.result_apart(shape, "", rough, grows, call);
    }

    /// One that is not in place.
    fn result_apart(
        &mut self,
        shape: Shape,
        from: &str,
        rough: Option<Rough>,
        grows: bool,
        call: impl Fn(&str) -> String,
    ) {
        match rough {
            None => {
                let to = self.target_apart(shape, from);
                self.say(call(&to));
                if grows {
                    self.clamp(&to);
                }
            }
            // Too far, or too large, for what follows: the operation is left out.
            Some((most, far)) if far > FARTHEST || most > MOST_ROUGH => {}
            Some((most, far)) => {
                let to = self.rough(shape, most, far);
                self.say(call(&to));
                self.close(&to);
            }
        }
    }

    /// An operation that is exact, on any tile of some shapes.
    fn moved(&mut self, name: &str, shapes: &[Shape], args: impl Fn(&str, &str) -> String) {
        let shape = self.one_of(shapes);
        let src = self.tile(shape, true);
        let rough = src.rough.map(|far| (src.most, far));
        self.result(shape, rough, false, |to| format!("{name}{};", args(&src.name, to)));
    }

    fn unary(&mut self, op: UnaryTileOp, name: &str) {
        use UnaryTileOp as U;
        let plain = |src: &str, to: &str| format!("({to}, {src})");
        match op {
            U::Copy | U::Neg | U::Abs | U::Relu => self.moved(name, &SHAPES, plain),
            U::Round | U::Floor | U::Ceil => {
                let shape = self.one_of(&SHAPES);
                let src = self.tile(shape, false);
                let part = self.fresh_name("q");
                self.declare(&part, "float", shape);
                let to = self.target(shape);
                self.say(format!("TMULS({part}, {}, 0.25f); {name}({to}, {part});", src.name));
            }
            _ => {
                let shape = self.one_of(&SHAPES);
                let src = self.tile(shape, true);
                let far = src.rough.unwrap_or(0.0);
                // Of what is between the bounds the function is defined, and its slope is at most this.
                let (before, most, slope) = match op {
                    U::Log | U::Log2 | U::Rsqrt | U::Recip => {
                        ("TABS(to, src); TADDS(to, to, 1.0f);", 16.0, 1.5)
                    }
                    U::Sqrt => ("TABS(to, src); TADDS(to, to, 1.0f);", 100.0, 0.5),
                    U::Exp | U::Exp2 => ("TCLAMP(to, src, -4.0f, 3.0f);", 21.0, 21.0),
                    _ => ("TCLAMP(to, src, -4.0f, 4.0f);", 4.0, 1.5),
                };
                let before = before.replace("src", &src.name);
                let rough = (most, far * slope + most * COMPOSED);
                self.result(shape, Some(rough), false, |to| {
                    format!("{} {name}({to}, {to});", before.replace("to", to))
                });
            }
        }
    }

    fn binary(&mut self, op: BinaryTileOp, word: &PtoWord) {
        use BinaryTileOp as B;
        let exact = !matches!(op, B::Add | B::Sub | B::Mul | B::Div | B::Max | B::Min);
        let (shape, other) = match word.args.last() {
            Some(&"column") => (self.one_of(&[Shape::Wide, Shape::Wide, Shape::Column]), Some(Shape::Column)),
            Some(&"row") => (self.one_of(&[Shape::Wide, Shape::Wide, Shape::Row]), Some(Shape::Row)),
            Some(&"value") => (self.one_of(&SHAPES), None),
            _ => {
                let shape = self.one_of(&SHAPES);
                (shape, Some(shape))
            }
        };
        let a = self.tile(shape, !exact);
        let mut b = match other {
            Some(shape) => self.tile(shape, !exact),
            None => Tile { name: format!("{}.0f", 1 + self.numbers.below(7)), shape, rough: None, most: 7.0 },
        };
        if let (B::Div, Some(other)) = (op, other) {
            let divisor = self.fresh_name("d");
            self.declare(&divisor, "float", other);
            self.say(format!("TABS({divisor}, {}); TADDS({divisor}, {divisor}, 1.0f);", b.name));
            b.name = divisor;
        }
        let [far_a, far_b] = [&a, &b].map(|tile| tile.rough.unwrap_or(0.0));
        let rough = a.rough.or(b.rough).is_some() || op == B::Div;
        let (most, far) = match op {
            B::Mul => (a.most * b.most, far_a * b.most + far_b * a.most),
            B::Div => (a.most, far_a + far_b * a.most),
            B::Add | B::Sub => (a.most + b.most, far_a + far_b),
            _ => (a.most.max(b.most), far_a + far_b),
        };
        let rough = rough.then_some((most, far + most * ROUNDED));
        let grows = matches!(op, B::Add | B::Sub | B::Mul);
        self.result(shape, rough, grows, |to| format!("{}({to}, {}, {});", word.name, a.name, b.name));
    }

    fn reduce(&mut self, op: ReduceOp, name: &str, from: [Shape; 2], to: Shape) {
        let shape = self.one_of(&[from[0], from[0], from[1]]);
        let src = self.tile(shape, !op.gives_places());
        let far = src.rough.unwrap_or(0.0);
        let rough = match op {
            ReduceOp::Sum => src.rough.map(|far| (src.most * 32.0, far * 32.0 + src.most * 32.0 * ROUNDED)),
            // Places need elements of `float`.
            ReduceOp::ArgMax | ReduceOp::ArgMin => Some((32.0, 0.0)),
            ReduceOp::Mean => Some((src.most, far + src.most * 8.0 * ROUNDED)),
            _ => src.rough.map(|far| (src.most, far)),
        };
        self.result_apart(to, &src.name, rough, op == ReduceOp::Sum, |to| {
            format!("{name}({to}, {});", src.name)
        });
    }

    fn select(&mut self, name: &str) {
        let shape = self.one_of(&SHAPES);
        let mask = self.tile(shape, false);
        let [a, b] = [(); 2].map(|()| self.tile(shape, true));
        let rough = a.rough.or(b.rough).is_some();
        let far = a.rough.unwrap_or(0.0).max(b.rough.unwrap_or(0.0));
        let rough = rough.then_some((a.most.max(b.most), far));
        let call = |to: &str| format!("{name}({to}, {}, {}, {});", mask.name, a.name, b.name);
        self.result(shape, rough, false, call);
    }

    fn gather(&mut self, name: &str, by_row: bool) {
        let shape = self.one_of(&SHAPES);
        let [src, indices] = [true, false].map(|rough| self.tile(shape, rough));
        let at = self.fresh_name("at");
        self.declare(&at, "float", shape);
        let last = if by_row { "PTO_VALID_ROWS" } else { "PTO_VALID_COLS" };
        self.say(format!(
            "TABS({at}, {}); TMINS({at}, {at}, 1.0f * {last}({}) - 1.0f);",
            indices.name, src.name
        ));
        let rough = src.rough.map(|far| (src.most, far));
        self.result_apart(shape, &src.name, rough, false, |to| format!("{name}({to}, {}, {at});", src.name));
    }

    /// In place, so on a tile of whole numbers.
    fn mask(&mut self, form: &str, name: &str) {
        let shape = self.one_of(&SHAPES);
        let tile = self.tile(shape, false).name;
        let value = format!("{}.0f", self.whole(MOST as u64));
        let bound = self.one_of(&["0", "1", "7", "desc.a", "desc.d - 1", "16"]);
        let first = self.whole(9);
        let last = first + self.numbers.below(12) as i64;
        let group = self.one_of(&["0", "1", "3", "desc.b", "16"]);
        self.say(match form {
            "mask" => format!("{name}({tile}, {bound}, {value});"),
            "mask_causal" => format!("{name}({tile}, {first}, {value});"),
            _ => format!("{name}({tile}, {first}, {last}, {group}, {value});"),
        });
    }

    fn insert(&mut self, name: &str) {
        let shape = self.one_of(&SHAPES);
        let tile = self.tile(shape, false).name;
        let part = self.fresh_name("p");
        self.say(format!("VecTile<float, 2, 3> {part};"));
        if self.numbers.below(2) == 0 {
            self.say(format!("TASSIGN({part}, 9.0f, PTO_VALID_ROWS({tile}), PTO_VALID_COLS({tile}));"));
        } else {
            self.say(format!("TEXTRACT({part}, {tile}, 0, 0);"));
        }
        let (rows, cols) = ("PTO_VALID_ROWS", "PTO_VALID_COLS");
        let [row, col] = match self.numbers.below(2) {
            0 => ["0".to_owned(), "0".to_owned()],
            _ => [rows, cols].map(|of| format!("{of}({tile}) - {of}({part})")),
        };
        self.say(format!("{name}({tile}, {part}, {row}, {col});"));
    }

    fn top_k(&mut self, name: &str) {
        let shape = self.one_of(&SHAPES);
        let src = self.tile(shape, false).name;
        let rows = self.capacity(shape)[0];
        let kept = self.one_of(&[1, 6, 8, 17]);
        let [values, places] = ["v", "k"].map(|stem| self.fresh_name(stem));
        self.say(format!(
            "VecTile<float, {rows}, {kept}> {values}; VecTile<float, {rows}, {kept}> {places};"
        ));
        let first = self.numbers.below(20);
        self.say(format!("{name}({values}, {places}, {src}, {first});"));
        match self.numbers.below(3) {
            0 => {
                let other = self.tile(shape, false).name;
                self.say(format!("{name}({values}, {places}, {other}, {});", first + 40));
            }
            1 => {
                let i = self.fresh_name("i");
                self.say(format!("for (uint32_t {i} = 0; {i} < desc.b; {i} += 1) {{"));
                self.say(format!("{name}({values}, {places}, {src}, {i} * 40 + 50);\n}}"));
            }
            _ => {}
        }
        for list in [values, places] {
            let place = self.place_of([rows, kept]);
            self.say(format!("TSTORE(y, {list}, {place});"));
        }
    }
}
