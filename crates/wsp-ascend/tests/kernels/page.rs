//! The page on kernels for Ascend cores: its table is what kernels with one call of each operation are emitted with.

use crate::batch::emitted;
use crate::bench::Kernel;
use crate::calls::{OPERANDS, call};
use crate::each_code::NOT_OF_KERNELS;
use expect_test::expect_file;
use std::fmt::Write as _;
use wsp_ascend::kernels::{Chip, bound};
use wsp_diag::Code;
use wsp_ir::{PtoWord, TILE_OPS, TileOpKind, TileOpRow};

const HEAD: &str = "\
# Kernels for Ascend cores

<!-- The table is printed by a test of wsp-ascend: `cargo xtask bless` writes this page. -->

`wsp emit FILE.pto --stage kernels --target ascend_910b -o FOLDER` writes the kernels of a file as C++17, one file each. The text builds on
the instruction library of the platform, which comes with its compiler: it includes `<pto/pto-inst.hpp>` and calls what is there.
Targets are `ascend_910b` (a2), `ascend_910c` (a3) and `ascend_950` (a5).

A kernel becomes a [tile program](tile_programs.md): buffers with addresses, instructions of units, events between units. Each
instruction is printed as a block: the tiles that it takes, then its calls. Calls that depend on each other have a barrier of the vector
unit between them. `NAME_body` takes pointers to tensors, which lie row by row without gaps, then numbers; `kernel_entry` takes the
arguments of a task in the same order. **It is not that of the kernel's parameters**: tensors come as the file first names them, and only what
the kernel uses. The second line of each file lists them.

* Parameters with a default have it unless `--set NAME=VALUE` gives another; extents that shapes name stay numbers of the launch
  unless they are set. The sizes of tiles must be known.
* A `PTO_REQUIRE` that is false by the values that are known at emission is an error (WSP1731). One that a launch decides the text says nothing of: who
  launches the kernel keeps to it.
* Integer arithmetic of scalars is that of C++: unlike a run on `cpu_sim`, no task stops where a number does not fit. What would be below 0
  and has no sign is 0: a difference, and a number with a sign that becomes one without.
* Arithmetic is in `float`. Tiles of `half` and `bfloat16_t` are converted before, and results after, which rounds once.
* NaN is treated as the instructions do. Sums are added in the order of the instruction.
* Products of operands that do not fit their memories beside each other are made in parts along the inner dimension.
* A tile that may be read before it is written is filled with 0 where it is declared, and has no rows and columns then, as on `cpu_sim`. An operand of a kernel with
  products alone is refused instead (WSP1712), and so may be an operand of a product that no statement before it writes.
* Of a tensor in a workspace the argument points to the field of slot 0.
* A right operand of `PTO_TRANSPOSE` is transposed on the way to L1.

## Paged caches

A load from a cache, or a store to it, is a transfer for each page that its positions lie in. The number of a page comes from global memory by way of the scalar unit.
Pages may have any size, which a launch decides; rows end where the request ends.

| argument | what it is |
|---|---|
| `k_cache_gm`, `v_cache_gm`, of another name `NAME_k_gm`, `NAME_v_gm` | keys and values: pages one after another, without gaps |
| `NAME_lengths_gm`, `NAME_indptr_gm`, `NAME_indices_gm`, `NAME_last_page_len_gm` | the page table, `uint32_t`, as [arrays of a launch](reference/pto.md) have it; `lengths` are positions by request |
| `cache_NAME_page_size` | positions of a page |
| `cache_NAME_position_stride` | elements between positions of a page: `NHD` heads · lanes, `HND` lanes |
| `cache_NAME_head_stride` | elements between heads: `NHD` lanes, `HND` page size · lanes |

Arrays of page tables come behind the tensors of the file, and before those called `exchange`; the three numbers come behind the fields of the descriptor,
parameters and extents of axes. `NAME` is that of the cache in the file, `kv_cache` for instance. Each kernel takes what it uses.

* An operand of a product is brought together by the vector core, some rows at a time, in a tensor called `exchange`, from which the cube core loads it;
  of a task for both cores on a5, it is moved there without a tensor.
* A tile of several positions that is loaded takes the room of two in UB, as a transfer may write all rows of its tile, and the last page may begin in its last row.
* The element type of a cache is that of the host entry: `PagedKVCache<half> kv`.

## Kernels for both kinds of cores

Products run on cube cores, all else on vector cores. A kernel that needs both is one task on a5, where the two move tiles to each other. On a2 and
a3 they share global memory only: the kernel becomes several tasks, each a
file `NAME_0.cpp`, `NAME_1.cpp`, …, and a header `NAME.hpp`. `NAME_tasks(tasks, …)` in it runs them one after another, in the loops and
under the conditions of the kernel: `tasks` is an object with a function for each task, of its name, that runs it. Scalars that no instruction
decides are computed there and handed over.

* Operands and results of products, and tiles that several tasks need, lie there in tensors called `exchange`. Each run of the kernel has its
  own, with any contents at first. `NAME.hpp` has the rows, columns and element type of each.
* An accumulator that vector operations change is a tile of the vector core; a product that is added to it is a product and an addition.
* Of two operands with different element types, the one that is not loaded from a tensor is rounded to the type of the other; two that are
  loaded have to have one type.

### One task on a5

A task of a5 runs on a cube core and two vector cores. The matrix unit's results go from L0C to UB (FIX), operands from UB to L1 (MTE3), in fractals that the
vector unit makes; what is beside the valid part of them is 0. One file, `NAME.cpp`, is compiled for each kind of core: both follow the control flow, and
run what stands under `if constexpr (is_cube)` or `if constexpr (is_vector)`.

* Order between the cores is that of `set_intra_block` and `wait_intra_block`: eight events from each core to the other, for all pairs of their units.
* The first vector core does all the work. The entry ends at once on the second, which nothing waits for.
* Parts of operands that lie in pages are loaded by the vector core, and moved from there.
* No buffer of such a task has two addresses.

The kernel becomes several tasks here, too, and the note WSP1728 says why, where

* its tiles do not fit UB beside each other,
* the eight events are too few, or an order that they do not give is needed, as over the back of a loop between parts of two branches,
* one core stores to a tensor that the other uses, or
* the cube core, or a condition or a loop around one of its instructions, needs a number that the vector core finds: an element of a tensor, the maximum of
  a tile.

## Operations

Calls of an operation on tiles of `float`, in their order, without barriers. Where platforms differ, each is named. `TINSERT` and `TEXTRACT` of a part
whose first column is a constant and begins a block of 32 bytes are one copy each; `TTOPK` of one list sees its candidates as rows of 64, without
transposing them, and takes an eighth of the room.

| operation | calls | error of the composition |
|---|---|---|
";

const CHECKING: &str = "
## Checking

`wsp check FILE.pto --target ascend_910b` does with every kernel of the file what emission does, with `--set NAME=VALUE` where sizes follow from
parameters, and writes nothing. It tells what is wrong with each of them (of one that does not fit, or that the platform
has no instructions for, no later step is looked at), and of each kernel that can be written it prints a line: its
tasks, and how far the memories are filled in the task that takes most.

```text
k.pto: kernel scores: 3 tasks, UB 12,288 of 188,416 bytes, L0A 4,096 of 65,536 bytes, L0B 4,096 of 65,536 bytes, L0C 1,024 of 131,072 bytes
k.pto: ok
```

A kernel without a body, and one that needs a parameter without a value, is an error that says what to do; of a file without kernels a note says so. Generators and schedules
of the file are checked for `cpu_sim`, which a note says; [packages](reference/ascend_packages.md) list what they do in another way. Workloads (`.wsp`) and task graphs (`.tg`) hold no
tiles: their kernels lie in `.pto` files, which are checked by themselves. A check of a task graph for a target says so in a note.

Each of these is found alone in a kernel of the tests, where one thing is wrong with it (`crates/wsp-ascend/tests/kernels/each_code.rs`):

| code | what is found |
|---|---|
";

const LINES: &str = "
### Lines of 64 bytes

Two cores must not write one line of 64 bytes of global memory. A scalar store goes through the cache of its core, which writes back the whole line;
a tile store of a part of a line is no safer. WSP1726 warns of a store whose place differs between tasks, unless

* every run of its bytes begins on a line, or
* its last line is over where the store of the next task begins, at the earliest that its place allows.

A tile without rows stores nothing: what decides its rows decides as a condition around the store would. Where rounds bring several tasks to one
place, and decide what each of them stores there, as in `{task + round, 4 * round}`, only the first rule counts. What is known is constants, parameters,
fields of descriptors as the generators of the file fill them, and variables and loops of the kernel. Nothing is told of a launch with one task, of a
place that all tasks have, and of additions (`TSTORE_ATOMIC_ADD`). Tensors are taken to begin on a line. Not found: different kernels that store to
one tensor at the same time, tasks that store to the same element, stores to single places that conditions give to one task each, and rounds that
tasks choose by conditions on the task and on the round apart, where the place differs between tasks too.

### Rows and columns that are 0, below 0 or past the end

Where constants and parameters say that a load, a store or a fill is given 0 rows or columns, or that a load begins behind the end of its tensor, WSP1727
warns, and nothing is emitted for it. Below 0, and for a store or an insertion that begins or ends behind the end, it is an error; in a loop or under a condition, which may keep the
statement from running, a warning. A variable that is set more than once is no constant here. What only a launch decides the kernel compares with 0, and skips. A difference of numbers without
a sign, and a number with a sign that becomes one without, is 0 in the kernel where it would be below 0: a run on `cpu_sim` stops there. This holds of
places, too: a load or a store that a launch gives a place below 0 is one at 0. A number of 64 bits that becomes one of 32 is at most the largest of these,
so that a place far behind a tensor stays behind it.
";

const TAIL: &str = "
## What is missing

* Single elements of paged caches, additions to them, stores to them from L0C, tiles whose rows are requests, tensors with rows of different lengths,
  and arithmetic on integer tiles are not emitted yet (WSP1721).
* Keys and values that are operands of products go through global memory once more on a2 and a3: no transfer brings pages to L1.
* A number that one task finds (an element of a tensor, the maximum of a tile) is not handed to another: WSP1722.
* Tiles in L0C are not kept between tasks: an accumulator that products alone change, in a loop with vector operations, is refused (WSP1722).
* The time of a check grows faster than the square of a kernel: 100 loads, operations and stores of one tile in straight text take half a second, 200
  two, of eight tiles in turn two and nineteen.
* Tiles that do not fit UB, with scratch for conversions and lists of largest values, are not made smaller: WSP1705.
* On a5 one of the two vector cores of a task for both kinds of cores is idle, and such a task loads nothing for the next round while it computes in
  the same memory.
* Tasks of a kernel are many where it has a loop over products and vector operations: each round has at least one of each kind.
* Whether a zero among the largest values of a list has a sign is not kept.
* A tensor or a cache without an element type is refused: write `Tensor<float>`, `PagedKVCache<half>`.
* Functions of single numbers (`exp`, `sin`, …) are calls of the C++ library, which a device's loader may not take.
* The number of a block (`get_block_idx()`) is an argument of the kernel; it is not read from the context of a launch of several blocks.
* What stops a task on `cpu_sim` does not stop a kernel: a store past the last column of a tensor whose place or extents a launch decides
  writes to its next row, an insertion past the end of a tile leaves out what does not fit, an index of `TGATHER` that is past the end or no whole number
  takes any element, operands may have valid parts that a launch makes unequal, a division of whole numbers by 0 gives any number (a run on the host ends
  there, and at operands that do not fit), a loop with a step of 0 ends after a round, a negative place and a position behind the end of a request are not found.
* A loop with products under both branches of a condition has barriers of all units in place of some events.
";

/// The calls of the instruction of an operation, or why there are none.
fn calls(row: &TileOpRow, word: &PtoWord, chip: Chip) -> String {
    let kernel = match row.form {
        "matmul" => Kernel::new(&format!(
            "LeftTile<float, 8, 16> a; RightTile<float, 16, 16> b; AccTile<float, 8, 16> r;
             TLOAD(a, x, {{0, 0}}); TLOAD(b, x, {{0, 0}}); TASSIGN(r, 0.0f); {}(r, a, b); TSTORE(y, r, {{0, 0}});",
            word.name
        )),
        _ => Kernel::new(&format!("{OPERANDS} {} TSTORE(y, r, {{0, 0}});", call(row, word).0)),
    };
    let source = match emitted(&kernel, chip) {
        Ok(source) => source,
        Err(found) if found.iter().any(|found| found.code == Code(1720)) => {
            return format!("refused: {}", found[0].notes.join("; "));
        }
        Err(_) => return "not emitted yet".to_owned(),
    };
    let words =
        if row.word() == row.form { row.form.to_owned() } else { format!("{} {}", row.form, row.word()) };
    let begins =
        |line: &&str| line.trim_start().starts_with("{  // %") && line.ends_with(&format!(": {words}"));
    let lines: Vec<&str> = source.text.lines().collect();
    // The call under test comes last; other instructions of its form prepare operands.
    let first = lines.iter().rposition(begins).unwrap_or_else(|| panic!("{words}\n{}", source.text));
    let depth = |line: &str| line.len() - line.trim_start().len();
    let end = lines[first + 1..].iter().position(|line| depth(line) <= depth(lines[first])).unwrap();
    let names = lines[first + 1..first + 1 + end].iter().filter_map(|line| {
        let name: String = line
            .trim_start()
            .chars()
            .take_while(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == '_')
            .collect();
        let follows = line.trim_start()[name.len()..].starts_with(['(', '<']);
        (name.len() > 2 && follows && name != "TASSIGN").then_some(name)
    });
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_page_has_the_calls_of_every_operation() {
    let mut page = HEAD.to_owned();
    for row in TILE_OPS {
        let error = match row.kind {
            TileOpKind::Unary(op) => bound(op),
            _ => "",
        };
        for word in row.pto {
            let of = Chip::ALL.map(|chip| calls(row, word, chip));
            let cell = if of.iter().all(|calls| *calls == of[0]) {
                of[0].clone()
            } else if of[0] == of[1] {
                format!("a2, a3: {}; a5: {}", of[0], of[2])
            } else {
                format!("a2: {}; a3: {}; a5: {}", of[0], of[1], of[2])
            };
            let _ = writeln!(page, "| `{}` | {cell} | {error} |", word.name);
        }
    }
    page += CHECKING;
    for info in wsp_tile::CODES.iter().chain(wsp_ascend::CODES).flat_map(|group| group.iter()) {
        if !NOT_OF_KERNELS.contains(&info.code.0) {
            let _ = writeln!(page, "| {} | {} |", info.code, info.title);
        }
    }
    page += LINES;
    expect_file!["../../../../docs/ascend_kernels.md"].assert_eq(&(page + TAIL));
}
