//! Random kernels on every platform: emitted, in memories that they fill, they give what plain operations give, compiled by the host's compiler
//! and in the interpreter of tile programs; and without any one event, wait, barrier or edge they are found to be wrong.
//!
//! The interpreter runs the program that the text is printed from, where a kernel is for one kind of core. Of a kernel with tasks it runs the
//! program that is split into them, with addresses and order in the memories of the platform.

use crate::batch::{Batch, Shown, differs, synchronisations};
use crate::bench::{Kernel, told};
use crate::draw::{Cores, Drawn, WORDS};
use crate::mutate::{event_of, syncs, without};
use crate::randomised::cases;
use std::collections::{BTreeMap, BTreeSet};
use wsp_ascend::kernels::{Chip, KernelSource, emit_kernel_within, memories};
use wsp_core::{DType, TensorId};
use wsp_diag::{Code, Diagnostic};
use wsp_ir::{Part, TILE_OPS, TileOp};
use wsp_tile::interp::{TensorData, run};
use wsp_tile::{Memories, Op, PingPong, Sync, TileProgram, check, order, place};

/// Kernels of one C++ program.
const AT_ONCE: u64 = 8;

/// Of the synchronisations of a kernel, one in so many is left out in a run.
const LEFT_OUT: usize = 5;

/// What was found of all kernels of a platform.
#[derive(Default)]
struct Found {
    kernels: u64,
    tasks: u64,
    /// Seeds of kernels that are refused, by code.
    refused: BTreeMap<u16, Vec<u64>>,
    /// Programs without one synchronisation, without one event, and without a set and its wait.
    gone: [u64; 3],
    unseen: Vec<String>,
    shown: Shown,
    used: BTreeSet<&'static str>,
}

/// The programs with addresses of a kernel.
fn programs(source: &KernelSource) -> Vec<&TileProgram> {
    match source.tasks.as_slice() {
        [] => vec![&source.program],
        tasks => tasks.iter().map(|task| &task.program).collect(),
    }
}

/// The end of the highest buffer in each memory.
fn used(programs: &[&TileProgram], memories: &Memories) -> Vec<u64> {
    let end = |memory: usize| {
        let buffers = programs.iter().flat_map(|program| &program.buffers);
        let own = buffers.filter(|buffer| buffer.memory.index() == memory);
        own.flat_map(|buffer| buffer.at.iter().map(|at| at + buffer.bytes)).max().unwrap_or(0)
    };
    (0..memories.memories.len()).map(end).collect()
}

/// The kernel in memories of which it fills 95 % and more, and these memories.
fn packed(kernel: &Kernel, chip: Chip) -> Result<(KernelSource, Memories), Vec<Diagnostic>> {
    let module = kernel.module();
    let id = module.function_named("k").unwrap();
    let emitted = |memories: &Memories| emit_kernel_within(module, id, kernel.known(), chip, memories);
    let mut memories = memories(chip);
    let loose = emitted(&memories)?;
    let ends = used(&programs(&loose), &memories);
    for (memory, end) in memories.memories.iter_mut().zip(&ends) {
        memory.capacity = (*end).max(32);
    }
    let tight = emitted(&memories)?;
    for (memory, end) in memories.memories.iter().zip(used(&programs(&tight), &memories)) {
        assert!(end == 0 || end * 100 >= memory.capacity * 95, "{end} of {} bytes", memory.capacity);
    }
    Ok((tight, memories))
}

/// What a run of a tile program leaves in `y`. Tensors through which cores exchange tiles hold no number at first.
fn interpreted(kernel: &Kernel, program: &TileProgram, memories: &Memories, words: [u32; 4]) -> Vec<f32> {
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
            world.tensors[tensor.index()] = Some(TensorData { dtype: DType::F32, dims: vec![rows, cols], values });
        }
    }
    let ran = run(program, memories, &mut world);
    ran.unwrap_or_else(|fault| panic!("{}\n{words:?} {}", program.display(memories), told(&[fault])));
    let y = kernel.module().tensor_named("y").unwrap();
    world.tensors[y.index()].take().unwrap().values
}

/// The program that the interpreter runs, and its memories.
fn whole(source: &KernelSource, chip: Chip, packed: &Memories) -> (TileProgram, Memories) {
    if source.tasks.is_empty() {
        return (source.program.clone(), packed.clone());
    }
    let memories = memories(chip);
    let placed = place(source.program.clone(), &memories, PingPong::WhereItFits);
    let placed = placed.unwrap_or_else(|found| panic!("{}", told(&found)));
    let ordered = order(&placed.program, &memories);
    (ordered.unwrap_or_else(|found| panic!("{}", told(&found))).program, memories)
}

/// Numbers of synchronisations that are one edge each: a set and the next wait for its event, or the first where none follows.
fn edges(all: &[Sync]) -> Vec<[usize; 2]> {
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

impl Found {
    /// Programs without a synchronisation, an event or an edge are found to be wrong.
    fn omissions(&mut self, name: &str, program: &TileProgram, memories: &Memories) {
        let all = syncs(program);
        let mut look = |kind: usize, what: String, faulty: TileProgram| {
            self.gone[kind] += 1;
            if check(&faulty, memories).is_empty() {
                self.unseen.push(format!("{name}, {}: {what}", program.name));
            }
        };
        for (number, sync) in all.iter().enumerate() {
            look(0, format!("without number {number}, {sync:?}"), without(program, |at, _| at == number));
        }
        for event in all.iter().filter_map(|sync| event_of(*sync)).collect::<BTreeSet<_>>() {
            look(1, format!("without {event:?}"), without(program, |_, sync| event_of(sync) == Some(event)));
        }
        for edge in edges(&all) {
            let what = format!("without numbers {edge:?}, {:?}", all[edge[0]]);
            look(2, what, without(program, |at, _| edge.contains(&at)));
        }
    }

    fn kernel(&mut self, seed: u64, chip: Chip, batch: &mut Batch) {
        let drawn = Drawn::of(seed);
        let kernel = Kernel::new(&drawn.body);
        self.used.extend(&drawn.used);
        let plain: Vec<Vec<f32>> = WORDS.iter().map(|words| kernel.plain(*words)).collect();
        let name = format!("kernel {seed} on {}", chip.name());
        let agrees = |program: &TileProgram, memories: &Memories| {
            let found = check(program, memories);
            assert!(found.is_empty(), "{name}\n{}\n{}", drawn.body, told(&found));
            for (words, want) in WORDS.iter().zip(&plain) {
                let have = interpreted(&kernel, program, memories, *words);
                if let Some(at) = differs(&have, want, drawn.tolerance) {
                    panic!("{name}, interpreted with {words:?}: {at}\n{}\n{}", drawn.body, program.display(memories));
                }
            }
        };
        let (source, memories) = match packed(&kernel, chip) {
            Ok(made) => made,
            Err(found) => {
                for code in found.iter().map(|found| found.code.0).collect::<BTreeSet<_>>() {
                    self.refused.entry(code).or_default().push(seed);
                }
                // No platform has numbers of a seed; they are drawn where all else is possible.
                if drawn.used.contains(&"TRANDOM") {
                    assert!(found.iter().all(|found| found.code == Code(1720)), "{name}: {}", told(&found));
                    let memories = memories(chip);
                    agrees(&kernel.right(&memories, PingPong::WhereItFits), &memories);
                } else {
                    println!("{name} is refused: {}", told(&found));
                }
                return;
            }
        };
        self.kernels += 1;
        self.tasks += source.tasks.len() as u64;
        assert!(drawn.cores == Cores::Both || source.tasks.is_empty(), "{name} has tasks");
        let (program, own) = whole(&source, chip, &memories);
        agrees(&program, &own);
        for program in programs(&source) {
            let found = check(program, &memories);
            assert!(found.is_empty(), "{name}\n{}\n{}", drawn.body, told(&found));
            self.omissions(&name, program, &memories);
        }
        let parts: Vec<&KernelSource> =
            if source.tasks.is_empty() { vec![&source] } else { source.tasks.iter().collect() };
        for part in parts {
            let own = synchronisations(part.text.lines()).iter().filter(|(_, is_inner)| !is_inner).count();
            assert_eq!(own, syncs(&part.program).len(), "{name}: synchronisations of\n{}", part.text);
        }
        batch.add_source(&format!("kernel {seed}"), source, WORDS.into_iter().zip(plain), drawn.tolerance);
    }
}

/// Kernels from a number on, on a platform.
fn all(seeds: std::ops::Range<u64>, chip: Chip) -> Found {
    let mut found = Found::default();
    let seeds: Vec<u64> = seeds.collect();
    for some in seeds.chunks(AT_ONCE as usize) {
        let mut batch = Batch::new(chip, "random");
        // Tiles have at most 32 x 32 elements.
        batch.exchange(1 << 13);
        some.iter().for_each(|seed| found.kernel(*seed, chip, &mut batch));
        let from = some[0] as usize % LEFT_OUT;
        batch.leave_out(move |number| number % LEFT_OUT == from);
        found.shown.add(batch.run());
    }
    found
}

#[test]
fn random_kernels_give_what_plain_operations_give_and_need_every_event() {
    let (few, many) = (4, cases(4));
    // Few kernels are those of two platforms: the texts for a3 are those for a2.
    let chips: &[Chip] = if many > few { &Chip::ALL } else { &[Chip::A2, Chip::A5] };
    for chip in chips {
        let found = all(1..many + 1, *chip);
        let Found { kernels, tasks, refused, gone, unseen, shown, used } = found;
        println!(
            "{}: {kernels} of {many} random kernels and {tasks} tasks give what plain operations give, with {} words; refused: {refused:?}",
            chip.name(),
            used.len()
        );
        println!(
            "{}: without one synchronisation {}, event {} or edge {}: {} unseen; in runs {shown:?}",
            chip.name(),
            gone[0],
            gone[1],
            gone[2],
            unseen.len()
        );
        assert!(unseen.is_empty(), "{}", unseen.join("\n"));
        let others: usize = refused.iter().filter(|(code, _)| **code != 1720).map(|(_, seeds)| seeds.len()).sum();
        assert!(others as u64 * 20 <= many, "{refused:?}");
        assert!(shown.shown * 10 >= shown.gone * 8, "{shown:?}");
        let words: usize = TILE_OPS.iter().map(|row| row.pto.len()).sum();
        assert!(many < 200 || used.len() == words, "{} of {words} words: {used:?}", used.len());
    }
}

#[test]
fn zz_temp() {
    for seed in 1..400 {
        let drawn = Drawn::of(seed);
        let r = std::panic::catch_unwind(|| {
            let k = Kernel::new(&drawn.body);
            if std::env::var("PLAIN").is_ok() { WORDS.iter().for_each(|w| { k.plain(*w); }); }
        });
        if r.is_err() { println!("SEED {seed}"); }
    }
}
