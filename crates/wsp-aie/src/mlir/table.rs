//! How each operation is spelled: one row per operation, which parser and printer follow.
//!
//! A form is a line of words:
//!
//! | word | stands for |
//! |---|---|
//! | `%` | an operand |
//! | `%*` | the operands that are left, with commas |
//! | `$name` | an attribute that is an integer of `i32` |
//! | `?$name` | `, ` and such an attribute, or nothing |
//! | `@name` | an attribute that is a symbol |
//! | `!name`, `?!name` | an attribute that is the name of the operation's own symbol; with `?` it may be missing |
//! | `&set:name` | an attribute that is a word of an enumeration |
//! | `<>`  | a region |
//! | `[<>]` | regions between brackets, with commas |
//! | `^` | a block to go on to |
//! | `{}` | the attributes that the form does not name, where there are any |
//! | `t0`, `t1` | the type of an operand |
//! | `v0` | the type of an operand and a comma, where it is a vector |
//! | `tt` | the type of all operands |
//! | `r` | the type of the result |
//! | anything else | itself |

/// The version of the dialects whose spelling is printed. Both are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Version {
    /// Of March 2026.
    #[default]
    V2026_03,
    /// Of September 2026: transfers name their sizes and strides, and lengths may be values.
    V2026_09,
}

/// What type the result of an operation has where its form does not say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Made {
    /// There is no result.
    Nothing,
    /// The form has `r`.
    Told,
    /// `index`
    Index,
    /// `i1`
    Flag,
    /// That of the operand.
    Like(usize),
    /// `i1`, or a vector of them of the shape of the first operand.
    Truth,
    /// That of the elements of the operand.
    Element(usize),
}

/// How an operation is spelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spelling {
    /// By a line of words.
    Words(&'static str),
    /// By a function of its own.
    Own(Own),
}

/// Operations whose spelling is no line of words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Own {
    /// `module`
    Module,
    /// `aie.objectfifo`
    Fifo,
    /// `aie.objectfifo.link`
    Link,
    /// `aie.dma_bd`
    Descriptor,
    /// `aie.dma_start`
    Start,
    /// `aie.runtime_sequence`
    Sequence,
    /// `aiex.npu.dma_memcpy_nd`
    Transfer,
    /// `aiex.npu.rtp_write`
    Parameter,
    /// `arith.constant`
    Constant,
    /// `scf.for`
    For,
    /// `scf.if`
    If,
    /// `scf.yield`, `func.return`
    Yield,
    /// `func.func`
    Func,
    /// `func.call`
    Call,
}

/// An operation that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its own spelling.
    pub(crate) spelling: Spelling,
    /// What it makes.
    pub(crate) made: Made,
    /// What the blocks of its regions end with.
    pub(crate) ends: Option<&'static str>,
    /// Whether its own spelling has that too.
    is_spelled: bool,
}

impl Row {
    /// What its regions end with where that is not written in its own spelling.
    pub(crate) fn left_out(&self) -> Option<&'static str> {
        self.ends.filter(|_| !self.is_spelled)
    }

    /// Whether an operation of this name ends a block of its regions. Blocks of descriptors go on to each other too.
    pub(crate) fn is_ended_by(&self, name: &str) -> bool {
        let has_descriptors = matches!(self.name, "aie.dma" | "aie.mem" | "aie.memtile_dma" | "aie.shim_dma");
        self.ends == Some(name) || has_descriptors && matches!(name, "aie.dma_start" | "aie.next_bd")
    }
}

const fn row(name: &'static str, words: &'static str, made: Made) -> Row {
    Row { name, spelling: Spelling::Words(words), made, ends: None, is_spelled: false }
}

const fn region(name: &'static str, words: &'static str, made: Made, ends: &'static str) -> Row {
    Row { name, spelling: Spelling::Words(words), made, ends: Some(ends), is_spelled: false }
}

/// With regions whose `aie.end` is written.
const fn ended(name: &'static str, words: &'static str, made: Made) -> Row {
    Row { name, spelling: Spelling::Words(words), made, ends: Some("aie.end"), is_spelled: true }
}

const fn own(name: &'static str, own: Own, made: Made, ends: Option<&'static str>) -> Row {
    Row { name, spelling: Spelling::Own(own), made, ends, is_spelled: false }
}

/// Whether an operation ends its block.
pub(crate) fn is_terminator(name: &str) -> bool {
    matches!(name, "aie.dma_start" | "aie.end" | "aie.next_bd" | "func.return" | "scf.yield")
}

const BINARY: &str = "% , % {} : tt";
const UNARY: &str = "% {} : tt";
const CAST: &str = "% {} : t0 to r";

/// The operations, in the order of their names.
pub(crate) const ROWS: &[Row] = &[
    row("aie.buffer", "( % ) {} : r", Made::Told),
    row("aie.cascade_flow", "( % , % )", Made::Nothing),
    ended("aie.core", "( % ) <> {}", Made::Index),
    region("aie.device", "( &device:device ) ?!sym_name <> {}", Made::Nothing, "aie.end"),
    region("aie.dma", "( &direction:channel_dir , $channel_index ) {} [<>]", Made::Flag, "aie.end"),
    own("aie.dma_bd", Own::Descriptor, Made::Nothing, None),
    own("aie.dma_start", Own::Start, Made::Told, None),
    row("aie.end", "", Made::Nothing),
    row(
        "aie.flow",
        "( % , &bundle:source_bundle : $source_channel , % , &bundle:dest_bundle : $dest_channel ) {}",
        Made::Nothing,
    ),
    row("aie.lock", "( % ?$lockID ) {}", Made::Index),
    ended("aie.mem", "( % ) <> {}", Made::Index),
    ended("aie.memtile_dma", "( % ) <> {}", Made::Index),
    row("aie.next_bd", "^", Made::Nothing),
    own("aie.objectfifo", Own::Fifo, Made::Nothing, None),
    row("aie.objectfifo.acquire", "@objFifo_name ( &port:port , $size ) : r", Made::Told),
    row("aie.objectfifo.allocate", "@objFifo_name ( % )", Made::Nothing),
    own("aie.objectfifo.link", Own::Link, Made::Nothing, None),
    row("aie.objectfifo.release", "@objFifo_name ( &port:port , $size )", Made::Nothing),
    row("aie.objectfifo.subview.access", "% [ $index ] : t0 -> r", Made::Told),
    row("aie.packet_dest", "< % , &bundle:bundle : $channel >", Made::Nothing),
    region("aie.packet_flow", "( $ID ) <> {}", Made::Nothing, "aie.end"),
    row("aie.packet_source", "< % , &bundle:bundle : $channel >", Made::Nothing),
    own("aie.runtime_sequence", Own::Sequence, Made::Nothing, None),
    ended("aie.shim_dma", "( % ) <> {}", Made::Index),
    row(
        "aie.shim_dma_allocation",
        "!sym_name ( % , &direction:channel_dir , $channel_index ) {}",
        Made::Nothing,
    ),
    row("aie.tile", "( $col , $row ) {}", Made::Index),
    row("aie.use_lock", "( % , &action:action ?$value ) {}", Made::Nothing),
    row("aiex.dma_await_task", "( % )", Made::Nothing),
    row("aiex.dma_configure_task", "( % , &direction:direction , $channel ) <> {}", Made::Index),
    row("aiex.dma_configure_task_for", "@alloc <> {}", Made::Index),
    row("aiex.dma_free_task", "( % )", Made::Nothing),
    row("aiex.dma_start_task", "( % )", Made::Nothing),
    own("aiex.npu.dma_memcpy_nd", Own::Transfer, Made::Nothing, None),
    row("aiex.npu.dma_wait", "{}", Made::Nothing),
    own("aiex.npu.rtp_write", Own::Parameter, Made::Nothing, None),
    row("arith.addf", BINARY, Made::Like(0)),
    row("arith.addi", BINARY, Made::Like(0)),
    row("arith.andi", BINARY, Made::Like(0)),
    row("arith.bitcast", CAST, Made::Told),
    row("arith.ceildivsi", BINARY, Made::Like(0)),
    row("arith.cmpf", "&cmpf:predicate , % , % {} : tt", Made::Truth),
    row("arith.cmpi", "&cmpi:predicate , % , % {} : tt", Made::Truth),
    own("arith.constant", Own::Constant, Made::Told, None),
    row("arith.divf", BINARY, Made::Like(0)),
    row("arith.divsi", BINARY, Made::Like(0)),
    row("arith.divui", BINARY, Made::Like(0)),
    row("arith.extf", CAST, Made::Told),
    row("arith.extsi", CAST, Made::Told),
    row("arith.extui", CAST, Made::Told),
    row("arith.fptosi", CAST, Made::Told),
    row("arith.index_cast", CAST, Made::Told),
    row("arith.maximumf", BINARY, Made::Like(0)),
    row("arith.maxnumf", BINARY, Made::Like(0)),
    row("arith.maxsi", BINARY, Made::Like(0)),
    row("arith.maxui", BINARY, Made::Like(0)),
    row("arith.minimumf", BINARY, Made::Like(0)),
    row("arith.minnumf", BINARY, Made::Like(0)),
    row("arith.minsi", BINARY, Made::Like(0)),
    row("arith.minui", BINARY, Made::Like(0)),
    row("arith.mulf", BINARY, Made::Like(0)),
    row("arith.muli", BINARY, Made::Like(0)),
    row("arith.negf", UNARY, Made::Like(0)),
    row("arith.ori", BINARY, Made::Like(0)),
    row("arith.remsi", BINARY, Made::Like(0)),
    row("arith.remui", BINARY, Made::Like(0)),
    row("arith.select", "% , % , % {} : v0 t1", Made::Like(1)),
    row("arith.shli", BINARY, Made::Like(0)),
    row("arith.shrsi", BINARY, Made::Like(0)),
    row("arith.shrui", BINARY, Made::Like(0)),
    row("arith.sitofp", CAST, Made::Told),
    row("arith.subf", BINARY, Made::Like(0)),
    row("arith.subi", BINARY, Made::Like(0)),
    row("arith.truncf", CAST, Made::Told),
    row("arith.trunci", CAST, Made::Told),
    row("arith.uitofp", CAST, Made::Told),
    row("arith.xori", BINARY, Made::Like(0)),
    own("builtin.module", Own::Module, Made::Nothing, None),
    own("func.call", Own::Call, Made::Told, None),
    own("func.func", Own::Func, Made::Nothing, None),
    own("func.return", Own::Yield, Made::Nothing, None),
    row("math.absf", UNARY, Made::Like(0)),
    row("math.exp", UNARY, Made::Like(0)),
    row("math.rsqrt", UNARY, Made::Like(0)),
    row("math.sqrt", UNARY, Made::Like(0)),
    row("math.tanh", UNARY, Made::Like(0)),
    row("memref.alloc", "( ) {} : r", Made::Told),
    row("memref.copy", "% , % : t0 to t1", Made::Nothing),
    row("memref.load", "% [ %* ] {} : t0", Made::Element(0)),
    row("memref.store", "% , % [ %* ] {} : t1", Made::Nothing),
    own("scf.for", Own::For, Made::Told, Some("scf.yield")),
    own("scf.if", Own::If, Made::Told, Some("scf.yield")),
    own("scf.yield", Own::Yield, Made::Nothing, None),
    row("vector.broadcast", "% : t0 to r", Made::Told),
    row("vector.fma", "% , % , % : tt", Made::Like(0)),
    row("vector.load", "% [ %* ] {} : t0 , r", Made::Told),
    row("vector.reduction", "< &kind:kind > , % : t0 into r", Made::Told),
    row("vector.store", "% , % [ %* ] {} : t1 , t0", Made::Nothing),
];

/// Rows are found by halves.
const _: () = {
    let mut at = 1;
    while at < ROWS.len() {
        assert!(
            is_before(ROWS[at - 1].name.as_bytes(), ROWS[at].name.as_bytes()),
            "rows stand in the order of names"
        );
        at += 1;
    }
};

const fn is_before(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at < b.len() && (at == a.len() || a[at] < b[at])
}

/// The row of an operation.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    ROWS.binary_search_by(|row| row.name.cmp(name)).ok().map(|at| &ROWS[at])
}

/// The words of an enumeration, with their numbers.
pub(crate) fn set(name: &str) -> &'static [(&'static str, i64)] {
    match name {
        "device" => &[
            ("xcvc1902", 1),
            ("xcve2302", 2),
            ("xcve2802", 3),
            ("npu1", 4),
            ("npu1_1col", 5),
            ("npu1_2col", 6),
            ("npu1_3col", 7),
            ("npu2", 8),
            ("npu2_1col", 9),
            ("npu2_2col", 10),
            ("npu2_3col", 11),
            ("npu2_4col", 12),
            ("npu2_5col", 13),
            ("npu2_6col", 14),
            ("npu2_7col", 15),
        ],
        "bundle" => &[
            ("Core", 0),
            ("DMA", 1),
            ("FIFO", 2),
            ("South", 3),
            ("West", 4),
            ("North", 5),
            ("East", 6),
            ("PLIO", 7),
            ("NOC", 8),
            ("Trace", 9),
            ("TileControl", 10),
        ],
        "action" => &[("Acquire", 0), ("Release", 1), ("AcquireGreaterEqual", 2)],
        "port" => &[("Produce", 0), ("Consume", 1)],
        "direction" => &[("S2MM", 0), ("MM2S", 1)],
        "cmpi" => &[
            ("eq", 0),
            ("ne", 1),
            ("slt", 2),
            ("sle", 3),
            ("sgt", 4),
            ("sge", 5),
            ("ult", 6),
            ("ule", 7),
            ("ugt", 8),
            ("uge", 9),
        ],
        "cmpf" => &[
            ("false", 0),
            ("oeq", 1),
            ("ogt", 2),
            ("oge", 3),
            ("olt", 4),
            ("ole", 5),
            ("one", 6),
            ("ord", 7),
            ("ueq", 8),
            ("ugt", 9),
            ("uge", 10),
            ("ult", 11),
            ("ule", 12),
            ("une", 13),
            ("uno", 14),
            ("true", 15),
        ],
        _ => &[
            ("add", 0),
            ("mul", 1),
            ("minui", 2),
            ("minsi", 3),
            ("minnumf", 4),
            ("maxui", 5),
            ("maxsi", 6),
            ("maxnumf", 7),
            ("and", 8),
            ("or", 9),
            ("xor", 10),
            ("maximumf", 11),
            ("minimumf", 12),
        ],
    }
}

/// The integer type of an enumeration's numbers.
pub(crate) fn set_bits(name: &str) -> u32 {
    if matches!(name, "cmpi" | "cmpf") { 64 } else { 32 }
}
