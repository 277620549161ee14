//! Random kernels on every platform: emitted, in memories that they fill, they give what plain operations give, compiled by the host's compiler
//! and in the interpreter of tile programs; and without any one event, wait, barrier or edge they are found to be wrong.
//!
//! The interpreter runs the program that the text is printed from, where a kernel is for one kind of core. Of a kernel with tasks it runs the
//! program that is split into them, with addresses and order in the memories of the platform.

use crate::batch::{Batch, Launched, Shown, differs, synchronisations};
use crate::bench::{Kernel, told};
use crate::draw::{Cores, Drawn};
use crate::mutate::{event_of, syncs, without};
use crate::randomised::cases;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use wsp_ascend::kernels::{Chip, KernelSource, emit_kernel_within, memories};
use wsp_core::{DType, TensorId};
use wsp_diag::{Code, Diagnostic};
use wsp_ir::{Part, TILE_OPS, TileOp};
use wsp_tile::interp::{TensorData, run};
use wsp_tile::{Event, EventId, Memories, Op, PingPong, Sync, TileProgram, UnitId, check, order, place};

/// Kernels of the large run: 200 of them have no random numbers, which platforms lack.
const MANY: u64 = 206;

/// Kernels of one C++ program.
const AT_ONCE: u64 = 8;

/// What was found of all kernels of a platform.
#[derive(Default)]
struct Found {
    kernels: u64,
    tasks: u64,
    /// Seeds of kernels that are refused, by code.
    refused: BTreeMap<u16, Vec<u64>>,
    /// Why, where it is not that a platform has no numbers of a seed.
    reasons: String,
    /// Programs without one synchronisation, without one edge, and without a set and its wait; of these, those that are right.
    gone: [u64; 3],
    right: u64,
    unseen: Vec<String>,
    /// What was wrong, with the seed and the text of its kernel.
    wrong: Vec<String>,
    shown: Shown,
    used: BTreeSet<&'static str>,
}

/// A kernel, or its tasks: their programs have addresses.
fn parts(source: &KernelSource) -> &[KernelSource] {
    if source.tasks.is_empty() { std::slice::from_ref(source) } else { &source.tasks }
}

/// The end of the highest buffer in each memory.
fn used(source: &KernelSource, memories: &Memories) -> Vec<u64> {
    let end = |memory: usize| {
        let buffers = parts(source).iter().flat_map(|part| &part.program.buffers);
        let own = buffers.filter(|buffer| buffer.memory.index() == memory);
        own.flat_map(|buffer| buffer.at.iter().map(|at| at + buffer.bytes)).max().unwrap_or(0)
    };
    (0..memories.memories.len()).map(end).collect()
}

/// The kernel in memories of which it fills 95 % and more.
fn packed(kernel: &Kernel, chip: Chip) -> Result<KernelSource, Vec<Diagnostic>> {
    let module = kernel.module();
    let id = module.function_named("k").unwrap();
    let emitted = |memories: &Memories| emit_kernel_within(module, id, kernel.known(), chip, memories);
    let mut memories = memories(chip);
    let loose = emitted(&memories)?;
    let ends = used(&loose, &memories);
    for (memory, end) in memories.memories.iter_mut().zip(&ends) {
        memory.capacity = (*end).max(32);
    }
    let tight = emitted(&memories)?;
    for (memory, end) in memories.memories.iter().zip(used(&tight, &memories)) {
        assert!(end == 0 || end * 100 >= memory.capacity * 95, "{end} of {} bytes", memory.capacity);
    }
    Ok(tight)
}

/// What a run of a tile program leaves in `y`. Tensors through which cores exchange tiles hold no number at first.
fn interpreted(
    kernel: &Kernel,
    program: &TileProgram,
    memories: &Memories,
    words: [u32; 4],
) -> Result<Vec<f32>, Diagnostic> {
    let mut world = kernel.world(words);
    let mut exchanged: BTreeMap<TensorId, [usize; 2]> = BTreeMap::new();
    program.instructions(&mut |instruction| {
        let Op::Tile(op @ (TileOp::Load { .. } | TileOp::Store { .. })) = &instruction.op else { return };
        let (mut tile, mut tensor) = (None, None);
        op.each(&mut |part| match part {
            Part::Tile(of, _) => tile = Some(program.buffer(of.buffer)),
            Part::Tensor(of, _) => tensor = Some(*of),
            _ => {}
        });
        let (Some(tile), Some(tensor)) = (tile, tensor) else { return };
        let dims = exchanged.entry(tensor).or_default();
        *dims = [dims[0].max(tile.rows as usize), dims[1].max(tile.cols as usize)];
    });
    for (tensor, [rows, cols]) in exchanged {
        if tensor.index() >= world.tensors.len() {
            world.tensors.resize(tensor.index() + 1, None);
            let values = vec![f32::NAN; rows * cols];
            world.tensors[tensor.index()] =
                Some(TensorData { dtype: DType::F32, dims: vec![rows, cols], values });
        }
    }
    run(program, memories, &mut world)?;
    let y = kernel.module().tensor_named("y").unwrap();
    Ok(world.tensors[y.index()].take().unwrap().values)
}

/// The program that the interpreter runs, and its memories.
fn whole(source: &KernelSource, chip: Chip) -> (TileProgram, Memories) {
    if source.tasks.is_empty() {
        return (source.program.clone(), source.memories.clone());
    }
    let memories = memories(chip);
    let placed = place(source.program.clone(), &memories, PingPong::WhereItFits);
    let placed = placed.unwrap_or_else(|found| panic!("{}", told(&found)));
    let ordered = order(&placed.program, &memories);
    (ordered.unwrap_or_else(|found| panic!("{}", told(&found))).program, memories)
}

/// The flags of an event: units, and numbers.
fn flags(event: Event) -> Vec<(UnitId, UnitId, u32)> {
    let ids = match event.id {
        EventId::One(id) => vec![id],
        EventId::Parity { even, odd, .. } => vec![even, odd],
    };
    ids.into_iter().map(|id| (event.from, event.to, id)).collect()
}

/// Edges by the flags that they set: two events are of one edge where they share a flag, as those around a loop and those inside.
fn edges(all: &[Sync]) -> BTreeSet<BTreeSet<Event>> {
    let events: BTreeSet<Event> = all.iter().filter_map(|sync| event_of(*sync)).collect();
    let edge = |event: &Event| {
        let mut own = BTreeSet::from([*event]);
        loop {
            let held: BTreeSet<_> = own.iter().flat_map(|event| flags(*event)).collect();
            let more = events.iter().filter(|other| flags(**other).iter().any(|flag| held.contains(flag)));
            let more: BTreeSet<Event> = more.copied().collect();
            if more == own {
                return own;
            }
            own = more;
        }
    };
    events.iter().map(edge).collect()
}

/// Numbers of each set and of the next wait for its event, or of the first where none follows.
fn pairs(all: &[Sync]) -> Vec<[usize; 2]> {
    let sets = all.iter().enumerate().filter_map(|(at, sync)| match sync {
        Sync::Set(event) => Some((at, Sync::Wait(*event))),
        _ => None,
    });
    let pair = |(at, wait): (usize, Sync)| {
        let next = (at..all.len()).chain(0..at).find(|other| all[*other] == wait);
        next.map(|next| [at, next])
    };
    sets.filter_map(pair).collect()
}

/// A kernel, and what a plain run of it leaves in `y` for each descriptor.
struct Case {
    name: String,
    drawn: Drawn,
    kernel: Kernel,
    words: Vec<[u32; 4]>,
    plain: Vec<Vec<f32>>,
}

impl Case {
    fn of(seed: u64, chip: Chip) -> Case {
        let drawn = Drawn::of(seed);
        let kernel = Kernel::new(&drawn.body);
        let words = drawn.words();
        let plain = words.iter().map(|words| kernel.plain(*words)).collect();
        Case { name: format!("kernel {seed} on {}", chip.name()), drawn, kernel, words, plain }
    }

    /// Where runs of a tile program leave something else.
    fn interpreted(&self, program: &TileProgram, memories: &Memories) -> Vec<String> {
        let differs = |(words, want): (&[u32; 4], &Vec<f32>)| {
            let found = match interpreted(&self.kernel, program, memories, *words) {
                Ok(have) => differs(&have, want, self.drawn.tolerance)?,
                Err(fault) => told(&[fault]),
            };
            Some(format!("{}, interpreted with {words:?}: {found}\n{}", self.name, self.drawn.body))
        };
        self.words.iter().zip(&self.plain).filter_map(differs).collect()
    }

    /// What the checker finds.
    fn checked(&self, program: &TileProgram, memories: &Memories) -> Option<String> {
        let found = check(program, memories);
        let text = || format!("{}, checked: {}\n{}", self.name, told(&found), self.drawn.body);
        (!found.is_empty()).then(text)
    }
}

impl Found {
    /// A program without a synchronisation or an edge is found to be wrong. Without a set and its wait it is found, or is right: inside of a
    /// loop the two may be needed no more, where what stands around the loop is.
    ///
    /// One in `step` of each kind is left out.
    fn omissions(&mut self, case: &Case, part: &KernelSource, is_task: bool, step: usize) {
        let (program, memories) = (&part.program, &part.memories);
        let all = syncs(program);
        let wrong = |faulty: &TileProgram| !check(faulty, memories).is_empty();
        let mut unseen = Vec::new();
        for (number, sync) in all.iter().enumerate().step_by(step) {
            self.gone[0] += 1;
            if !wrong(&without(program, |at, _| at == number)) {
                unseen.push(format!("number {number}, {sync:?}"));
            }
        }
        for edge in edges(&all).into_iter().step_by(step) {
            self.gone[1] += 1;
            if !wrong(&without(program, |_, sync| event_of(sync).is_some_and(|event| edge.contains(&event))))
            {
                unseen.push(format!("{edge:?}"));
            }
        }
        for pair in pairs(&all).into_iter().step_by(step) {
            let faulty = without(program, |at, _| pair.contains(&at));
            self.gone[2] += 1;
            if wrong(&faulty) {
                continue;
            }
            self.right += 1;
            if is_task || !case.interpreted(&faulty, memories).is_empty() {
                unseen.push(format!("numbers {pair:?}, {:?}", all[pair[0]]));
            }
        }
        let name = &case.name;
        self.unseen.extend(unseen.into_iter().map(|what| format!("{name}, {} without {what}", part.name)));
    }

    /// A kernel that is refused.
    fn refused(&mut self, case: &Case, seed: u64, chip: Chip, mut why: Vec<Diagnostic>) {
        why.retain(Diagnostic::is_error);
        for code in why.iter().map(|found| found.code.0).collect::<BTreeSet<_>>() {
            self.refused.entry(code).or_default().push(seed);
        }
        let name = &case.name;
        if !case.drawn.used.contains(&"TRANDOM") {
            let _ = writeln!(self.reasons, "{name} is refused: {}", told(&why));
            return;
        }
        // No platform has numbers of a seed: such a kernel is a tile program only.
        assert!(why.iter().all(|found| found.code == Code(1720)), "{name}: {}", told(&why));
        let memories = memories(chip);
        let program = case.kernel.right(&memories, PingPong::WhereItFits);
        self.wrong.extend(case.interpreted(&program, &memories));
    }

    fn kernel(&mut self, seed: u64, chip: Chip, step: usize, batch: &mut Batch) {
        let case = Case::of(seed, chip);
        self.used.extend(&case.drawn.used);
        let source = match packed(&case.kernel, chip) {
            Ok(made) => made,
            Err(why) => return self.refused(&case, seed, chip, why),
        };
        self.kernels += 1;
        self.tasks += source.tasks.len() as u64;
        assert!(case.drawn.cores == Cores::Both || source.tasks.is_empty(), "{} has tasks", case.name);
        let (program, own) = whole(&source, chip);
        self.wrong.extend(case.interpreted(&program, &own));
        self.wrong.extend(case.checked(&program, &own));
        for part in parts(&source) {
            self.wrong.extend(case.checked(&part.program, &part.memories));
            self.omissions(&case, part, !source.tasks.is_empty(), step);
            let lines = synchronisations(part.text.lines());
            let own = lines.iter().filter(|(_, is_inner)| !is_inner).count();
            assert_eq!(own, syncs(&part.program).len(), "{}: synchronisations of\n{}", case.name, part.text);
        }
        let runs = case.words.into_iter().zip(case.plain).map(|(words, want)| Launched::new(words, want));
        batch.add_source(&format!("kernel {seed}"), source, runs, case.drawn.tolerance);
    }

    fn text(&self, chip: Chip, many: u64) -> String {
        let Found { kernels, tasks, refused, gone: [one, edge, pair], right, unseen, shown, used, .. } = self;
        let (chip, words, unseen) = (chip.name(), used.len(), unseen.len());
        format!(
            "{}{chip}: {kernels} of {many} random kernels and {tasks} tasks, with {words} words; refused: {refused:?}\n\
             {chip}: without one synchronisation {one}, edge {edge}, set and wait {pair} ({right} are right): {unseen} unseen; in runs {shown:?}",
            self.reasons
        )
    }
}

/// Kernels of these numbers on a platform, and each without one in `step` of its synchronisations.
fn all(seeds: &[u64], chip: Chip, step: usize) -> Found {
    let mut found = Found::default();
    for some in seeds.chunks(AT_ONCE as usize) {
        let mut batch = Batch::new(chip, "random");
        // Tiles have at most 32 x 32 elements.
        batch.exchange(1 << 13);
        some.iter().for_each(|seed| found.kernel(*seed, chip, step, &mut batch));
        batch.leave_out(move |number| number % step == 0);
        let (shown, wrong) = batch.outcome();
        found.shown.add(shown);
        let texts = some.iter().map(|seed| Drawn::of(*seed).body).collect::<String>();
        found
            .wrong
            .extend((!wrong.is_empty()).then(|| format!("compiled, on {}: {wrong}\n{texts}", chip.name())));
    }
    found
}

#[test]
fn random_kernels_give_what_plain_operations_give_and_need_every_event() {
    let (few, many) = (3, cases(3));
    // Of few kernels each is that of one of two platforms: the texts for a3 are those for a2.
    let (chips, step): (&[Chip], _) = if many > few { (&Chip::ALL, 1) } else { (&[Chip::A2, Chip::A5], 5) };
    let mut wrong = Vec::new();
    for (at, chip) in chips.iter().enumerate() {
        let is_one = |seed: &u64| many > few || *seed % 2 != at as u64;
        let seeds: Vec<u64> = (1..=many).filter(is_one).collect();
        let mut found = all(&seeds, *chip, step);
        println!("{}", found.text(*chip, many));
        wrong.append(&mut found.wrong);
        wrong.append(&mut found.unseen);
        let others = found.refused.iter().filter(|(code, _)| **code != 1720);
        let others: usize = others.map(|(_, seeds)| seeds.len()).sum();
        if others as u64 * 20 > many {
            wrong.push(format!("{} refuses {:?}", chip.name(), found.refused));
        }
        if many >= MANY && found.kernels < 200 {
            wrong.push(format!("{} has {} kernels", chip.name(), found.kernels));
        }
        if found.shown.shown * 10 < found.shown.gone * 8 {
            wrong.push(format!("on {} runs show too few: {:?}", chip.name(), found.shown));
        }
        let words: usize = TILE_OPS.iter().map(|row| row.pto.len()).sum();
        if many >= MANY && found.used.len() < words {
            wrong.push(format!("{} of {words} words: {:?}", found.used.len(), found.used));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An edge of this kernel is needed by another alone, which the rest implies.
#[test]
fn no_edge_stays_that_only_another_needed() {
    let kernel = Kernel::new(
        "VecTile<half, 32, 32> w; VecTile<bfloat16_t, 1, 32> r; VecTile<float, 32, 32> g;
         for (uint32_t i = 0; i < desc.a; i += 1) {
             TLOAD(w, x, {i, 0}, 32, desc.d);
             TCLAMP(g, w, -4.0f, 4.0f);
             TSTORE(y, g, {i + 3, 0});
             for (uint32_t j = 0; j < desc.b; j += 1) {
                 TLOAD(r, x, {i + 3, 0}, 1, desc.d);
                 float s = PTO_LOAD_SCALAR(x, {i + j, 20});
                 PTO_STORE_SCALAR(y, s, {i * 2 + 3, 31});
             }
         }",
    );
    for chip in Chip::ALL {
        let KernelSource { program, memories, .. } = packed(&kernel, chip).unwrap();
        for edge in edges(&syncs(&program)) {
            let fewer =
                without(&program, |_, sync| event_of(sync).is_some_and(|event| edge.contains(&event)));
            assert!(!check(&fewer, &memories).is_empty(), "{edge:?}\n{}", program.display(&memories));
        }
    }
}
