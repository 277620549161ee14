//! The calls that make up one instruction of a tile program, with the scratch buffers that they need.
//!
//! An operation is put together on tiles of `float`; operands of shorter types are converted before, results after, which rounds once.
//! Calls of the vector unit that depend on each other get a barrier between them.

use super::Chip;
use super::ops::cube::Turned;
use super::scalars::Scalars;
use super::view::{CElem, Layout, Slot, Valid, View, in_ub, one_type, padded};
use wsp_core::DType;
use wsp_ordered::OrderedMap;
use wsp_tile::{BufferId, Tile, TileProgram};

/// Bytes of scratch of a reduction of rows, above which it goes by some rows at a time.
const MOST_SCRATCH: u32 = 32 * 1024;

/// Rows of the blocks of 32 bytes of a column of `float`.
pub(super) const ROWS_OF_COLUMN: u32 = 8;

/// Why there are no calls for an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Lack {
    /// No instructions of the platform give the result.
    Refused(&'static str),
    /// Cores have no elements of this type.
    Elements(DType),
    /// Nothing is written for it yet.
    NotYet(&'static str),
}

/// An argument of a call.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Arg {
    /// A tile that is written.
    Out(View),
    /// A tile that is read.
    In(View),
    /// A view of a tensor: its type, and the arguments of its constructor.
    Global(String, String),
    /// Anything else.
    Text(String),
}

/// A step of an instruction.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Step {
    /// A call.
    Call(String, Vec<Arg>),
    /// Calls for `var` from `from` while below `end`.
    Loop { var: &'static str, from: String, end: String, body: Vec<Step> },
    /// Calls under a condition.
    When(String, Vec<Step>),
    /// The first element of a tile becomes the value of a variable.
    Read(String, View),
}

/// A scratch buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) elem: CElem,
    pub(super) rows: u32,
    pub(super) cols: u32,
}

impl Shape {
    pub(super) fn bytes(self) -> u64 {
        u64::from(self.rows) * u64::from(self.cols) * u64::from(self.elem.size())
    }
}

/// How tiles of an element-wise operation are seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// All are columns without gaps: as rows.
    Flat,
    /// As rows one after another.
    Rows,
}

/// A result on the way.
pub(super) struct Output {
    /// Where the calls write it, elements of `float`.
    pub(super) view: View,
    /// Where it goes from there.
    to: Option<View>,
}

/// An instruction under way.
pub(super) struct Recipe<'a> {
    pub(super) program: &'a TileProgram,
    pub(super) scalars: &'a Scalars<'a>,
    pub(super) turned: &'a Turned,
    pub(super) chip: Chip,
    pub(super) scratch: Vec<Shape>,
    pub(super) steps: Vec<Step>,
    /// Bytes that buffers must have at least, because the instruction set wants views of more rows.
    pub(super) room: OrderedMap<BufferId, u64>,
}

/// A tile that is written.
pub(super) fn out(view: &View) -> Arg {
    Arg::Out(view.clone())
}

/// A tile that is read.
pub(super) fn input(view: &View) -> Arg {
    Arg::In(view.clone())
}

/// Text.
pub(super) fn text(text: impl Into<String>) -> Arg {
    Arg::Text(text.into())
}

/// A number of `float`.
pub(super) fn number(value: f64) -> Arg {
    Arg::Text(Scalars::float(value))
}

impl<'a> Recipe<'a> {
    pub(super) fn new(
        program: &'a TileProgram,
        scalars: &'a Scalars<'a>,
        turned: &'a Turned,
        chip: Chip,
    ) -> Recipe<'a> {
        Recipe {
            program,
            scalars,
            turned,
            chip,
            scratch: Vec::new(),
            steps: Vec::new(),
            room: OrderedMap::new(),
        }
    }

    /// A call.
    pub(super) fn call(&mut self, name: impl Into<String>, args: impl Into<Vec<Arg>>) {
        self.steps.push(Step::Call(name.into(), args.into()));
    }

    /// Calls for a variable from a number on, below another.
    pub(super) fn looped(
        &mut self,
        var: &'static str,
        from: &str,
        end: &str,
        body: impl FnOnce(&mut Recipe<'a>),
    ) {
        let body = self.inner(body);
        self.steps.push(Step::Loop { var, from: from.to_owned(), end: end.to_owned(), body });
    }

    /// Calls under a condition.
    pub(super) fn when(&mut self, cond: String, body: impl FnOnce(&mut Recipe<'a>)) {
        let body = self.inner(body);
        self.steps.push(Step::When(cond, body));
    }

    fn inner(&mut self, body: impl FnOnce(&mut Recipe<'a>)) -> Vec<Step> {
        let outer = std::mem::take(&mut self.steps);
        body(self);
        std::mem::replace(&mut self.steps, outer)
    }

    /// `name(dst, src)`
    pub(super) fn unary(&mut self, name: &str, dst: &View, src: &View) {
        let mut views = [dst, src].map(View::clone);
        if name == "TABS" {
            one_type(&mut views);
        }
        let [dst, src] = &views;
        self.call(name, [out(dst), input(src)]);
    }

    /// `name(dst, a, b)` on tiles.
    pub(super) fn binary(&mut self, name: &str, dst: &View, a: &View, b: &View) {
        let mut views = [dst, a, b].map(View::clone);
        if name == "TADD" {
            one_type(&mut views);
        }
        let [dst, a, b] = &views;
        self.call(name, [out(dst), input(a), input(b)]);
    }

    /// `name(dst, src, value)`
    pub(super) fn with_number(&mut self, name: &str, dst: &View, src: &View, value: f64) {
        self.call(name, [out(dst), input(src), number(value)]);
    }

    /// A scratch tile of `rows × cols` elements, all of which are valid.
    pub(super) fn scratch(&mut self, elem: CElem, rows: u32, cols: u32) -> View {
        let cols = padded(cols, elem.per_block());
        self.scratch.push(Shape { elem, rows, cols });
        View {
            slot: Slot::Scratch(self.scratch.len() as u32 - 1),
            elem,
            rows,
            cols,
            layout: Layout::Rows,
            valid: [Valid::Known(rows), Valid::Known(cols)],
            offset: None,
        }
    }

    /// A scratch tile of other elements, with the room and the valid extents of a tile.
    pub(super) fn like(&mut self, view: &View, elem: CElem) -> View {
        let scratch = if view.is_column() {
            let block = self.scratch(elem, 1, view.rows);
            block.as_column()
        } else {
            self.scratch(elem, view.rows, view.cols)
        };
        View { valid: view.valid.clone(), ..scratch }
    }

    /// How tiles are seen that an element-wise operation takes.
    pub(super) fn form(&self, tiles: &[&Tile]) -> Form {
        if tiles.iter().all(|tile| self.tile_is_column(tile)) { Form::Flat } else { Form::Rows }
    }

    /// Whether a tile is one column without gaps.
    pub(super) fn tile_is_column(&self, tile: &Tile) -> bool {
        let buffer = self.program.buffer(tile.buffer);
        buffer.cols == 1 && buffer.rows > 1
    }

    /// A tile of UB with its own elements, as they lie.
    pub(super) fn tile(&self, tile: &Tile) -> Result<View, Lack> {
        let elem = self.elem(tile)?;
        Ok(in_ub(self.program, tile, elem, self.scalars))
    }

    /// The elements of a tile.
    pub(super) fn elem(&self, tile: &Tile) -> Result<CElem, Lack> {
        let elem = self.program.buffer(tile.buffer).elem;
        CElem::of(elem).ok_or(Lack::Elements(elem))
    }

    /// An operand as `float` as it lies.
    pub(super) fn floats(&mut self, tile: &Tile) -> Result<View, Lack> {
        let view = self.tile(tile)?;
        match view.elem {
            CElem::F32 => Ok(view),
            CElem::F16 | CElem::Bf16 => {
                let wide = self.like(&view, CElem::F32);
                self.convert(&wide, &view, "CAST_NONE");
                Ok(wide)
            }
            _ => Err(Lack::NotYet("arithmetic on integers")),
        }
    }

    /// An operand as `float` in a form.
    pub(super) fn read(&mut self, tile: &Tile, form: Form) -> Result<View, Lack> {
        let view = self.floats(tile)?;
        Ok(match form {
            Form::Flat => view.as_row(),
            Form::Rows if view.is_column() => {
                let one = Valid::Known(1);
                self.column_as_tile(&view, 1, &one)
            }
            Form::Rows => view,
        })
    }

    /// A result of `float` in a form; [`done`](Self::done) ends it.
    pub(super) fn write(&mut self, tile: &Tile, form: Form) -> Result<Output, Lack> {
        let view = self.tile(tile)?;
        if !matches!(view.elem, CElem::F32 | CElem::F16 | CElem::Bf16) {
            return Err(Lack::NotYet("arithmetic on integers"));
        }
        let flat = form == Form::Flat || !view.is_column();
        let own = if flat { view.as_row() } else { view.clone() };
        if own.elem == CElem::F32 && flat {
            return Ok(Output { view: own, to: None });
        }
        let scratch = if flat {
            self.like(&own, CElem::F32)
        } else {
            let [rows, _] = view.valid.clone();
            self.scratch(CElem::F32, view.rows, 1).with_valid(rows, Valid::Known(1))
        };
        Ok(Output { view: scratch, to: Some(own) })
    }

    /// Ends a result.
    pub(super) fn done(&mut self, output: Output) {
        let Output { view, to } = output;
        let Some(to) = to else { return };
        let mut view = view;
        if to.is_column() {
            let column = if to.elem == CElem::F32 { to.clone() } else { self.like(&to, CElem::F32) };
            self.row_statistic("TROWMAX", &column, &view);
            view = column.as_row();
        }
        if to.elem != CElem::F32 {
            self.convert(&to.as_row(), &view, "CAST_RINT");
        }
    }

    /// Elements of one type as those of another.
    pub(super) fn convert(&mut self, dst: &View, src: &View, mode: &str) {
        let (dst, src) = (dst.as_row(), src.as_row());
        self.call("TCVT", [out(&dst), input(&src), text(format!("RoundMode::{mode}"))]);
    }

    /// The largest whole number that each of some small numbers of `float` reaches, by way of `int32_t`: host simulations of the
    /// instruction set round nothing where the types of a conversion are one.
    pub(super) fn whole_part(&mut self, numbers: &View) {
        let whole = self.like(numbers, CElem::I32);
        self.convert(&whole, numbers, "CAST_FLOOR");
        self.convert(numbers, &whole, "CAST_RINT");
    }

    /// A copy between tiles of the same elements and valid extents. One to the tile itself is none: instructions ask for two tiles.
    pub(super) fn copy(&mut self, dst: &View, src: &View) {
        let place = |view: &View| (view.slot, view.offset.clone(), view.elem, view.cols, view.layout);
        if place(dst) == place(src) {
            return;
        }
        if (dst.rows, dst.cols) == (src.rows, src.cols) {
            self.unary("TMOV", dst, src);
        } else {
            // Tiles of different rows take another instruction; a number times 1 is that number.
            self.with_number("TMULS", dst, src, 1.0);
        }
    }

    /// Gives the bytes of a view room for at least so many rows.
    pub(super) fn with_room(&mut self, view: &View, rows: u32) {
        match view.slot {
            Slot::Buffer(id) => {
                let bytes = u64::from(rows) * u64::from(view.cols) * u64::from(view.elem.size());
                let room = self.room.entry(id).or_default();
                *room = bytes.max(*room);
            }
            Slot::Scratch(at) => {
                let shape = &mut self.scratch[at as usize];
                shape.rows = shape.rows.max(rows);
            }
        }
    }

    /// A value per row. The instruction set wants views of as many rows as the column has.
    pub(super) fn row_statistic(&mut self, name: &str, column: &View, src: &View) {
        // A column has whole blocks of 32 bytes, and a call as many rows in its source as in its result: of one row the result is the block as
        // a row, for which the source needs no more rows than it has.
        let as_block =
            |column: &View| View { rows: 1, cols: column.rows, layout: Layout::Rows, ..column.clone() };
        let one = (src.rows == 1).then(|| as_block(column));
        let column = one.as_ref().unwrap_or(column);
        let view = View { rows: column.rows, ..src.clone() };
        self.with_room(&view, view.rows);
        let row_bytes = view.cols * view.elem.size();
        if view.rows * row_bytes <= MOST_SCRATCH || !view.rows.is_multiple_of(ROWS_OF_COLUMN) {
            let tmp = self.scratch(src.elem, view.rows, view.cols);
            let tmp = tmp.with_valid(view.valid[0].clone(), view.valid[1].clone());
            self.call(name, [out(column), input(&view), out(&tmp)]);
            return;
        }
        // The scratch tile of the call has the rows of its source: some rows at a time take less.
        let rows = (MOST_SCRATCH / row_bytes / ROWS_OF_COLUMN).max(1) * ROWS_OF_COLUMN;
        let tmp = self.scratch(src.elem, rows, view.cols);
        let parts = match &view.valid[0] {
            Valid::Known(n) => format!("{}u", n.div_ceil(rows)),
            Valid::Text(n) => format!("ceil_div({n}, {rows}u)"),
        };
        let valid = Valid::Text(format!("smaller({} - part * {rows}u, {rows}u)", view.valid[0].text()));
        let part = |of: &View, bytes: u32| {
            let offset = format!("part * {bytes}u");
            let offset = of.offset.as_ref().map_or(offset.clone(), |before| format!("{before} + {offset}"));
            View { rows, offset: Some(offset), ..of.with_valid(valid.clone(), of.valid[1].clone()) }
        };
        let (to, from) = (part(column, rows * column.elem.size()), part(&view, rows * row_bytes));
        let tmp = tmp.with_valid(valid.clone(), view.valid[1].clone());
        let name = name.to_owned();
        self.looped("part", "0u", &parts, |r| r.call(name, [out(&to), input(&from), out(&tmp)]));
    }

    /// `name(dst, src, column)`: a value per row meets every element of the row.
    pub(super) fn with_column(&mut self, name: &str, dst: &View, src: &View, column: &View) {
        let mut args = vec![out(dst), input(src), input(column)];
        if self.chip != Chip::A5 {
            // 256 bytes for 8 rows, of at most 240 rows at a time.
            let floats = (column.rows.div_ceil(8) * 64).min(2048);
            args.push(out(&self.scratch(CElem::F32, 1, floats)));
        }
        self.call(name, args);
    }

    /// A column as a tile of `cols` equal columns.
    pub(super) fn column_as_tile(&mut self, column: &View, cols: u32, valid: &Valid) -> View {
        let full = self.scratch(CElem::F32, column.rows, cols);
        let full = full.with_valid(column.valid[0].clone(), valid.clone());
        self.call("TEXPANDS", [out(&full), number(1.0)]);
        self.with_column("TROWEXPANDMUL", &full, &full, column);
        full
    }

    /// A row as a tile of equal rows, with the room and the valid extents of another.
    pub(super) fn row_as_tile(&mut self, row: &View, like: &View) -> View {
        let full = self.like(like, CElem::F32);
        self.unary("TCOLEXPAND", &full, row);
        full
    }

    /// A column or a row as an operand beside a result: a tile of its own where the two are one.
    pub(super) fn apart(&mut self, operand: View, result: &View) -> View {
        if operand.slot != result.slot {
            return operand;
        }
        let own = self.like(&operand, operand.elem);
        self.copy(&own.as_row(), &operand.as_row());
        own
    }

    /// 0, 1, 2, … as a row.
    pub(super) fn counting_row(&mut self, cols: u32) -> View {
        let row = self.scratch(CElem::I32, 1, cols);
        self.call(format!("TCI<{}, int32_t, 0>", row.c_type()), [out(&row), text("0")]);
        let floats = self.scratch(CElem::F32, 1, cols);
        self.convert(&floats, &row, "CAST_RINT");
        floats
    }

    /// A mask of a comparison of the elements of `like`: a bit for each. Its valid columns are the bytes of whole rows: some
    /// implementations lay rows of bits by them.
    pub(super) fn mask(&mut self, like: &View) -> View {
        let mask = self.scratch(CElem::U8, like.rows, like.cols);
        mask.with_valid(like.valid[0].clone(), Valid::Known(like.cols.div_ceil(8)))
    }

    /// `dst = mask ? a : value`
    pub(super) fn select_or_number(&mut self, dst: &View, mask: &View, a: &View, value: impl Into<String>) {
        let tmp = self.scratch(CElem::F32, 1, 16);
        self.call("TSELS", [out(dst), input(mask), input(a), out(&tmp), text(value)]);
    }

    /// `dst = mask ? a : b`
    pub(super) fn select(&mut self, dst: &View, mask: &View, a: &View, b: &View) {
        let tmp = self.scratch(CElem::U32, 1, 16);
        // Here the valid columns of a mask are those of the valid bits.
        let bytes = match &dst.valid[1] {
            Valid::Known(n) => Valid::Known(n.div_ceil(8)),
            Valid::Text(n) => Valid::Text(format!("ceil_div({n}, 8u)")),
        };
        let mask = mask.with_valid(dst.valid[0].clone(), bytes);
        let mut views = [dst, a, b].map(View::clone);
        one_type(&mut views);
        let [dst, a, b] = &views;
        self.call("TSEL", [out(dst), input(&mask), input(a), input(b), out(&tmp)]);
    }
}
