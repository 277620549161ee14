//! Kernels at random: every operation of the table on live tiles, in loops and under conditions.
//!
//! Values stay comparable. Tiles that are declared at the beginning hold whole numbers of at most [`MOST`], which every element type has, so
//! comparisons, roundings and places are the same in every run; what an operation makes of them is clamped. A result that is no whole number goes
//! to a tile of its own that is written once, with a bound of how far it may be from that of another run, and only operations without
//! jumps use it.

mod calls;
mod products;

use crate::randomised::Numbers;
use wsp_ir::{PtoWord, TILE_OPS, TileOpRow};

/// The descriptors that kernels run with: counts of the outer and the inner loops, then valid rows and columns.
const WORDS: [[u32; 4]; 6] =
    [[2, 2, 40, 40], [0, 2, 1, 16], [1, 1, 15, 17], [2, 0, 16, 15], [7, 1, 17, 1], [1, 4, 32, 32]];

/// One for products alone, whose inner dimension may be 0: a sum of nothing is 0.
const NO_TERMS: [u32; 4] = [2, 1, 17, 0];

/// The largest whole number, and that of rough numbers.
const MOST: f64 = 64.0;
const MOST_ROUGH: f64 = 1e4;

/// The largest distance that a rough tile may have.
const FARTHEST: f64 = 1e-4;

/// Roundings of a result, and of one that is put together, relative to it.
const ROUNDED: f64 = 1.2e-7;
const COMPOSED: f64 = 4e-6;

/// The rows and columns of a tile: those of the kernel, one of them, or the two exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Wide,
    Column,
    Row,
    Turned,
}

const SHAPES: [Shape; 4] = [Shape::Wide, Shape::Column, Shape::Row, Shape::Turned];

/// Tiles of each shape.
const TILES: [usize; 4] = [4, 2, 2, 2];

#[derive(Clone, Debug)]
struct Tile {
    name: String,
    shape: Shape,
    /// How far an element may be from that of another run, where it is no whole number.
    rough: Option<f64>,
    most: f64,
}

/// What a kernel runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cores {
    Vector,
    Cube,
    Both,
}

/// A kernel.
pub(crate) struct Drawn {
    pub(crate) body: String,
    pub(crate) cores: Cores,
    /// How far its results may be from those of a plain run, as [`crate::batch::Tolerance`] has it.
    pub(crate) tolerance: f32,
    /// Operations that it was drawn with, by their words.
    pub(crate) used: Vec<&'static str>,
}

/// Every operation by every word.
fn words() -> Vec<(&'static TileOpRow, &'static PtoWord)> {
    TILE_OPS.iter().flat_map(|row| row.pto.iter().map(move |word| (row, word))).collect()
}

struct Text {
    numbers: Numbers,
    drawn: Drawn,
    rows: u64,
    cols: u64,
    /// Whether a launch decides the valid rows and columns.
    open: [bool; 2],
    live: Vec<Tile>,
    /// Variables of the loops around.
    loops: Vec<String>,
    fresh: usize,
    left: u32,
    /// The next word of those that are taken in turn.
    turn: usize,
    /// Whether numbers of a seed are drawn, which no platform has.
    seeded: bool,
}

impl Drawn {
    pub(crate) fn of(seed: u64) -> Drawn {
        let mut numbers = Numbers::of_seed(seed);
        let cores = match numbers.below(12) {
            0 | 1 => Cores::Cube,
            2..=4 => Cores::Both,
            _ => Cores::Vector,
        };
        let pick = |numbers: &mut Numbers, of: &[u64]| of[numbers.below(of.len() as u64) as usize];
        let rows = pick(&mut numbers, &[1, 15, 16, 17, 17, 24, 31, 32]);
        let cols = pick(&mut numbers, &[8, 15, 16, 17, 17, 24, 32]);
        let open = [numbers.below(4) > 0, numbers.below(4) > 0];
        let body = format!("// Number {seed}.\n");
        let drawn = Drawn { body, cores, tolerance: 0.0, used: Vec::new() };
        let left = if cores == Cores::Both { 9 } else { 12 };
        let mut text = Text {
            numbers,
            drawn,
            rows,
            cols,
            open,
            live: Vec::new(),
            loops: Vec::new(),
            fresh: 0,
            left,
            turn: seed as usize * 5,
            seeded: seed % 16 == 7 && cores == Cores::Vector,
        };
        if cores == Cores::Cube {
            text.cube()
        } else {
            text.tiles()
        }
        text.drawn
    }

    /// The descriptors that it runs with.
    pub(crate) fn words(&self) -> Vec<[u32; 4]> {
        let more = (self.cores == Cores::Cube).then_some(NO_TERMS);
        WORDS.into_iter().chain(more).collect()
    }
}

impl Text {
    fn say(&mut self, line: impl AsRef<str>) {
        self.drawn.body += line.as_ref();
        self.drawn.body += "\n";
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.numbers.below(all.len() as u64) as usize]
    }

    /// A whole number from -`n` to `n`.
    fn whole(&mut self, n: u64) -> i64 {
        self.numbers.below(2 * n + 1) as i64 - n as i64
    }

    /// Valid rows and columns of a shape, as text.
    fn valid(&self, shape: Shape) -> [String; 2] {
        let [rows, cols] = [(0, "desc.c", self.rows), (1, "desc.d", self.cols)]
            .map(|(at, word, all)| if self.open[at] { word.to_owned() } else { all.to_string() });
        match shape {
            Shape::Wide => [rows, cols],
            Shape::Column => [rows, "1".to_owned()],
            Shape::Row => ["1".to_owned(), cols],
            Shape::Turned => [cols, rows],
        }
    }

    fn capacity(&self, shape: Shape) -> [u64; 2] {
        match shape {
            Shape::Wide => [self.rows, self.cols],
            Shape::Column => [self.rows, 1],
            Shape::Row => [1, self.cols],
            Shape::Turned => [self.cols, self.rows],
        }
    }

    fn declare(&mut self, name: &str, elem: &str, shape: Shape) {
        let [rows, cols] = self.capacity(shape);
        self.say(format!("VecTile<{elem}, {rows}, {cols}> {name};"));
    }

    /// A place for a tile of this shape: it has all of its rows and columns there.
    fn place(&mut self, shape: Shape) -> String {
        let size = self.capacity(shape);
        self.place_of(size)
    }

    fn place_of(&mut self, [rows, cols]: [u64; 2]) -> String {
        let row = self.row();
        // A column lies along a column of the tensor, or along a row.
        let (along, size) = match cols {
            1 if self.numbers.below(3) > 0 => (format!("PTO_ROWS({row})"), 1),
            1 => (row, rows),
            _ => (row, cols),
        };
        format!("{{{along}, {}}}", self.numbers.below(33 - size))
    }

    /// A row of a tensor that 31 others follow.
    fn row(&mut self) -> String {
        let number = self.numbers.below(15);
        match self.numbers.below(4) {
            _ if self.loops.is_empty() => number.to_string(),
            0 => number.to_string(),
            1 | 2 => {
                let at = self.numbers.below(self.loops.len() as u64) as usize;
                format!("{} * {} + 3", self.loops[at], 1 + number % 2)
            }
            _ => self.loops.join(" + "),
        }
    }

    fn tiles(&mut self) {
        let short = self.numbers.below(3) == 0;
        for (shape, count) in SHAPES.into_iter().zip(TILES) {
            for at in 0..count {
                let elem = if short { self.one_of(&["float", "half", "bfloat16_t"]) } else { "float" };
                self.declare(&format!("{}{at}", stem(shape)), elem, shape);
            }
        }
        if self.seeded {
            let (row, word) = wsp_ir::find_pto("TRANDOM").unwrap();
            self.drawn.used.push(word.name);
            self.call(row, word);
        }
        self.block(0);
        for shape in SHAPES {
            if shape == Shape::Wide
                || self.live.iter().any(|tile| tile.shape == shape && tile.rough.is_none())
            {
                let tile = self.tile(shape, false);
                self.store(&tile, "TSTORE");
            }
        }
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..3 + self.numbers.below(5) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            match self.numbers.below(12) {
                0..=2 if depth < 3 => self.looped(depth),
                3 if depth < 3 => self.branch(depth),
                4 if self.drawn.cores == Cores::Vector => self.scalar(),
                _ => self.operation(),
            }
        }
    }

    /// A loop: what it writes is not written where it has no round.
    fn looped(&mut self, depth: usize) {
        let (name, end) = (self.fresh_name("i"), if depth == 0 { "desc.a" } else { "desc.b" });
        let counted = self.numbers.below(4) > 0;
        self.say(match counted {
            true => format!("for (uint32_t {name} = 0; {name} < {end}; {name} += 1) {{"),
            false => format!("uint32_t {name} = 0;\nwhile ({name} < {end}) {{"),
        });
        self.loops.push(name.clone());
        let before = self.live.clone();
        self.operation();
        self.block(depth + 1);
        self.live = before;
        self.loops.pop();
        self.say(if counted { "}".to_owned() } else { format!("{name} += 1;\n}}") });
    }

    fn branch(&mut self, depth: usize) {
        let cond =
            self.one_of(&["desc.a > 1", "desc.b > 1", "desc.c > 15", "desc.d > 16", "desc.c < desc.d"]);
        self.say(format!("if ({cond}) {{"));
        let before = self.live.clone();
        self.block(depth + 1);
        let yes = std::mem::replace(&mut self.live, before.clone());
        if self.numbers.below(2) == 0 {
            self.say("} else {");
            self.block(depth + 1);
        }
        self.say("}");
        let no = std::mem::replace(&mut self.live, before);
        let both =
            |tile: &Tile| [&yes, &no].iter().all(|all| all.iter().any(|other| other.name == tile.name));
        let more = yes.iter().filter(|tile| tile.rough.is_none() && both(tile));
        for tile in more.cloned().collect::<Vec<_>>() {
            self.written(&tile.name, tile.shape);
        }
    }

    fn fresh_name(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("{stem}{}", self.fresh)
    }

    /// A whole number of a tensor or of a tile in a sum.
    fn scalar(&mut self) {
        let name = self.fresh_name("s");
        if self.numbers.below(2) == 0 {
            let at = (self.row(), self.numbers.below(32));
            self.say(format!("float {name} = PTO_LOAD_SCALAR(x, {{{}, {}}});", at.0, at.1));
        } else {
            let row = self.tile(Shape::Row, false);
            let word = self.one_of(&["TROWMAX", "TROWSUM"]);
            self.say(format!("float {name} = {word}({});", row.name));
        }
        if self.numbers.below(3) == 0 {
            let at = self.row();
            self.say(format!("PTO_STORE_SCALAR(y, {name}, {{{at}, 31}});"));
        }
        let shape = self.one_of(&SHAPES);
        let src = self.tile(shape, false);
        let to = self.target(shape);
        self.say(format!("TADDS({to}, {}, {name});", src.name));
        self.clamp(&to);
    }

    fn written(&mut self, name: &str, shape: Shape) {
        if !self.live.iter().any(|tile| tile.name == name) {
            self.live.push(Tile { name: name.to_owned(), shape, rough: None, most: MOST });
        }
    }

    /// A tile of whole numbers that is written now.
    fn target(&mut self, shape: Shape) -> String {
        self.target_apart(shape, "")
    }

    /// One that is not a tile from which the operation takes elements at other places.
    fn target_apart(&mut self, shape: Shape, from: &str) -> String {
        let count = TILES[shape as usize];
        let first = self.numbers.below(count as u64) as usize;
        let all = (first..first + count).map(|at| format!("{}{}", stem(shape), at % count));
        let name = all.into_iter().find(|name| name != from).unwrap();
        self.written(&name, shape);
        name
    }

    /// A tile that was written; `rough` where it may hold other than whole numbers.
    fn tile(&mut self, shape: Shape, rough: bool) -> Tile {
        let fits = |tile: &&Tile| tile.shape == shape && (rough || tile.rough.is_none());
        let all: Vec<Tile> = self.live.iter().filter(fits).cloned().collect();
        let whole = all.iter().filter(|tile| tile.rough.is_none()).count();
        if whole == 0 {
            return self.load(shape);
        }
        all[self.numbers.below(all.len() as u64) as usize].clone()
    }

    fn load(&mut self, shape: Shape) -> Tile {
        let place = self.place(shape);
        let to = self.target(shape);
        let [rows, cols] = self.valid(shape);
        self.say(format!("TLOAD({to}, x, {place}, {rows}, {cols});"));
        self.live.iter().find(|tile| tile.name == to).cloned().unwrap()
    }

    fn store(&mut self, tile: &Tile, word: &str) {
        let place = self.place(tile.shape);
        self.say(format!("{word}(y, {}, {place});", tile.name));
        self.stored(tile);
    }

    fn stored(&mut self, tile: &Tile) {
        self.drawn.tolerance = self.drawn.tolerance.max(tile.rough.unwrap_or(0.0) as f32);
    }

    fn clamp(&mut self, name: &str) {
        self.say(format!("TCLAMP({name}, {name}, -{MOST}.0f, {MOST}.0f);"));
    }

    /// A tile of its own for a result, which is stored or used later.
    fn rough(&mut self, shape: Shape, most: f64, rough: f64) -> String {
        let name = self.fresh_name("g");
        self.declare(&name, "float", shape);
        self.live.push(Tile { name: name.clone(), shape, rough: Some(rough), most });
        name
    }

    fn close(&mut self, name: &str) {
        if self.numbers.below(2) == 0 {
            let tile = self.live.iter().find(|tile| tile.name == name).cloned().unwrap();
            self.store(&tile, "TSTORE");
        }
    }

    fn operation(&mut self) {
        let all = words();
        let at = if self.numbers.below(3) > 0 {
            self.turn += 1;
            self.turn
        } else {
            self.numbers.below(all.len() as u64) as usize
        };
        let (row, word) = all[at % all.len()];
        let skip = row.form == "random" || (row.form == "matmul" && self.drawn.cores != Cores::Both);
        if skip {
            return self.operation();
        }
        self.drawn.used.push(word.name);
        self.call(row, word);
        if self.drawn.cores == Cores::Both && self.numbers.below(5) == 0 {
            self.product("TMATMUL");
        }
    }
}

fn stem(shape: Shape) -> &'static str {
    ["w", "c", "r", "u"][shape as usize]
}
