//! Inference against a scan of all earlier accesses, on random programs.

use proptest::prelude::*;
use wsp_core::{Region, TensorId};
use wsp_runtime::infer::{
    Accesses, Capacity, Hazard, Matching, RegionMap, SlotTask, TensorMap, TileRef, unordered_hazards,
};

#[derive(Clone, Debug)]
struct Task {
    reads: Vec<Region>,
    writes: Vec<Region>,
}

/// Edges into each task.
type Edges = Vec<Vec<(u32, Hazard)>>;

/// Everything remembered, looked through for every access.
#[derive(Default)]
struct Scan {
    reads: Vec<(u32, Region)>,
    writes: Vec<(u32, Region)>,
}

impl Scan {
    fn submit(
        &mut self,
        id: u32,
        task: &Task,
        related: impl Fn(&Region, &Region) -> bool,
    ) -> Vec<(u32, Hazard)> {
        let mut found = Vec::new();
        let mut look = |list: &[(u32, Region)], mine: &[Region], hazard| {
            let hits = list.iter().filter(|(_, old)| mine.iter().any(|new| related(old, new)));
            found.extend(hits.map(|(other, _)| (*other, hazard)));
        };
        look(&self.writes, &task.reads, Hazard::Raw);
        look(&self.writes, &task.writes, Hazard::Waw);
        look(&self.reads, &task.writes, Hazard::War);
        let covered = |old: &Region| task.writes.iter().any(|new| related(old, new) && new.covers(old));
        self.reads.retain(|(_, old)| !covered(old));
        self.writes.retain(|(_, old)| !covered(old));
        self.reads.extend(task.reads.iter().map(|region| (id, *region)));
        // Of a task's own regions, one that a later one covers is forgotten as well.
        let forgotten = |(i, old): (usize, &Region)| {
            task.writes[i + 1..].iter().any(|new| new != old && related(old, new) && new.covers(old))
        };
        let kept = task.writes.iter().enumerate().filter(|&region| !forgotten(region));
        self.writes.extend(kept.map(|(_, region)| (id, *region)));
        found.sort_unstable();
        found.dedup_by_key(|(other, _)| *other);
        found
    }
}

fn overlap(a: &Region, b: &Region) -> bool {
    a.overlaps(b)
}

fn equal(a: &Region, b: &Region) -> bool {
    a == b && !a.is_empty()
}

fn scanned(program: &[Task], related: impl Fn(&Region, &Region) -> bool + Copy) -> Edges {
    let mut scan = Scan::default();
    (0..).zip(program).map(|(id, task)| scan.submit(id, task, related)).collect()
}

fn inferred(map: &mut RegionMap<u32>, program: &[Task]) -> Edges {
    let submit = |(id, task): (u32, &Task)| {
        let mut found = Vec::new();
        let accesses = Accesses::new(&task.reads, &task.writes);
        map.infer(id, accesses, |_| true, |other, hazard| found.push((other, hazard)))
            .expect("there is room");
        found
    };
    (0..).zip(program).map(submit).collect()
}

fn conflict(a: &Task, b: &Task) -> bool {
    let any = |x: &[Region], y: &[Region]| x.iter().any(|x| y.iter().any(|y| x.overlaps(y)));
    any(&a.writes, &b.reads) || any(&a.writes, &b.writes) || any(&a.reads, &b.writes)
}

const FIXED: Capacity = Capacity { tensors: 8, regions: 1500, readers: 1500, overlaps: 50_000, accesses: 16 };

/// A region of any rank from 1 to 4. Tensors 0 to 3 have tiles with parts and neighbours, 5000 has anything.
fn region() -> impl Strategy<Value = Region> + Clone {
    let bounds =
        |lo: Vec<u32>, hi: Vec<u32>, tensor| Region::new(TensorId(tensor), &lo, &hi).expect("ranks agree");
    let anything = proptest::collection::vec((0..9u32, 0..6u32), 2).prop_map(move |dims| {
        bounds(dims.iter().map(|d| d.0).collect(), dims.iter().map(|d| d.0 + d.1).collect(), 5000)
    });
    let tiles = (0..4u32)
        .prop_flat_map(|rank| (Just(rank), proptest::collection::vec((0..4u32, 0..8u32), rank as usize + 1)))
        .prop_map(move |(tensor, dims)| {
            // Mostly a tile of 4; else a part of it, or with some of the next.
            let part = |(at, how): &(u32, u32)| match how {
                0 => (4 * at + 1, 4 * at + 3),
                1 => (4 * at, 4 * at + 7),
                2 => (4 * at, 4 * at + 3),
                _ => (4 * at, 4 * at + 4),
            };
            bounds(dims.iter().map(|d| part(d).0).collect(), dims.iter().map(|d| part(d).1).collect(), tensor)
        });
    // Rows of three, every eight: strided.
    let rows = (0..8u32, 0..2u32).prop_map(move |(row, column)| {
        bounds(vec![8 * row, 4 * column], vec![8 * row + 3, 4 * column + 4], 4)
    });
    prop_oneof![5 => tiles, 2 => anything, 2 => rows]
}

/// Regions of which any two of a tensor are equal or disjoint.
fn tile() -> impl Strategy<Value = Region> + Clone {
    (0..3u32, 0..3u32, 0..3u32, prop::bool::weighted(0.1)).prop_map(|(tensor, row, column, empty)| {
        let lo = [row * 7 + tensor, column * 5];
        let hi = [lo[0] + 7 - tensor, lo[1] + if empty { 0 } else { 5 }];
        Region::new(TensorId(tensor), &lo, &hi).expect("ranks agree")
    })
}

fn program(
    region: impl Strategy<Value = Region> + Clone + 'static,
    longest: usize,
) -> impl Strategy<Value = Vec<Task>> {
    let some = proptest::collection::vec(region, 0..4);
    let task =
        (some.clone().boxed(), some, prop::bool::weighted(0.3)).prop_map(|(mut reads, writes, in_out)| {
            if in_out {
                reads.extend(writes.first());
            }
            Task { reads, writes }
        });
    proptest::collection::vec(task, 1..longest)
}

proptest! {
    #![proptest_config(crate::cases::cases(400))]

    #[test]
    fn edges_are_those_of_a_scan_in_fixed_and_growing_maps_and_again_after_clear(program in program(region(), 90)) {
        let expected = scanned(&program, overlap);
        for mut map in [RegionMap::growing(Matching::Overlap), RegionMap::fixed(Matching::Overlap, FIXED)] {
            prop_assert_eq!(&inferred(&mut map, &program), &expected);
            map.clear();
            prop_assert_eq!(&inferred(&mut map, &program), &expected);
            map.retire(|_| false);
            prop_assert_eq!(&inferred(&mut map, &program), &expected);
        }
    }

    #[test]
    fn every_conflict_is_ordered_by_a_path_and_no_edge_lacks_a_conflict(program in program(region(), 90)) {
        let mut before: Vec<u128> = Vec::new();
        for (j, edges) in inferred(&mut RegionMap::growing(Matching::Overlap), &program).iter().enumerate() {
            let mut bits = 0u128;
            for (i, _) in edges {
                prop_assert!((*i as usize) < j && conflict(&program[*i as usize], &program[j]));
                bits |= 1 << i | before[*i as usize];
            }
            before.push(bits);
            for i in 0..j {
                prop_assert!(!conflict(&program[i], &program[j]) || bits >> i & 1 == 1, "{} and {}", i, j);
            }
        }
    }

    #[test]
    fn equal_matching_is_a_scan_for_equal_regions(program in program(region(), 90)) {
        let expected = scanned(&program, equal);
        for mut map in [RegionMap::growing(Matching::Equal), RegionMap::fixed(Matching::Equal, FIXED)] {
            prop_assert_eq!(&inferred(&mut map, &program), &expected);
        }
    }

    #[test]
    fn equal_matching_is_complete_on_tiles_and_says_so(program in program(tile(), 90)) {
        let mut map = RegionMap::growing(Matching::Equal);
        prop_assert_eq!(inferred(&mut map, &program), scanned(&program, overlap));
        prop_assert_eq!((map.conflict_count(), map.conflicts()), (0, &[][..]));
    }

    #[test]
    fn conflicts_of_equal_matching_are_real_and_none_means_complete(program in program(region(), 25)) {
        let mut map = RegionMap::growing(Matching::Equal);
        let edges = inferred(&mut map, &program);
        for found in map.conflicts() {
            prop_assert!(found.region.overlaps(&found.other_region) && found.region != found.other_region);
            let (task, other) = (&program[found.task as usize], &program[found.other as usize]);
            let (mine, theirs) = match found.hazard {
                Hazard::Raw => (&task.reads, &other.writes),
                Hazard::Waw => (&task.writes, &other.writes),
                Hazard::War => (&task.writes, &other.reads),
            };
            prop_assert!(found.other < found.task);
            prop_assert!(mine.contains(&found.region) && theirs.contains(&found.other_region));
        }
        let ordered: Vec<(u32, u32)> =
            (0..).zip(&edges).flat_map(|(to, preds)| preds.iter().map(move |(from, _)| (*from, to))).collect();
        let accesses: Vec<Accesses<'_>> = program.iter().map(|task| Accesses::new(&task.reads, &task.writes)).collect();
        let missed = unordered_hazards(&accesses, &ordered).expect("it grows");
        prop_assert!(map.conflict_count() > 0 || missed.is_empty(), "{:?}", missed);
    }

    #[test]
    fn the_check_finds_exactly_the_hazards_without_a_path(
        program in program(region(), 60),
        keep in proptest::collection::vec(any::<bool>(), 600),
    ) {
        let hazards = scanned(&program, overlap);
        let all: Vec<(u32, u32)> =
            (0..).zip(&hazards).flat_map(|(to, preds)| preds.iter().map(move |(from, _)| (*from, to))).collect();
        let kept: Vec<(u32, u32)> = all.iter().zip(keep.iter().cycle()).filter(|(_, keep)| **keep).map(|(e, _)| *e).collect();
        let mut before = vec![0u64; program.len()];
        for &(from, to) in &kept {
            before[to as usize] |= 1 << from | before[from as usize];
        }
        let unordered = |&(from, to): &(u32, u32)| before[to as usize] >> from & 1 == 0;
        let expected: Vec<(u32, u32)> = all.iter().copied().filter(unordered).collect();
        let accesses: Vec<Accesses<'_>> = program.iter().map(|task| Accesses::new(&task.reads, &task.writes)).collect();
        let found = unordered_hazards(&accesses, &kept).expect("it grows");
        let pairs: Vec<(u32, u32)> = found.iter().map(|missed| (missed.other, missed.task)).collect();
        prop_assert_eq!(pairs, expected);
    }

    #[test]
    fn forgetting_tasks_that_are_not_live_changes_nothing_among_live_ones(
        program in program(region(), 90),
        window in 1..20u32,
        sweeps in proptest::collection::vec(0..4u32, 90),
    ) {
        let expected = scanned(&program, overlap);
        let mut map = RegionMap::<SlotTask>::growing(Matching::Overlap);
        for (id, task) in (0..).zip(&program) {
            // Tasks complete out of order, and stay complete.
            let live = |other: u32| other + window > id || other % 7 == 3 && other + 2 * window > id;
            match sweeps[id as usize] {
                0 => map.retire(|other| live(other.task)),
                1 => map.gc_before(id.saturating_sub(3), |other| live(other.task)),
                _ => (),
            }
            let mut found = Vec::new();
            map.infer(
                SlotTask { task: id, slot: id % 50 },
                Accesses::new(&task.reads, &task.writes),
                |other| live(other.task),
                |other, hazard| found.push((other.task, hazard)),
            ).expect("it grows");
            // Whatever is ordered before a live task only by way of completed ones need not be an edge.
            let mut want = expected[id as usize].clone();
            want.retain(|(other, _)| live(*other));
            prop_assert_eq!(found, want);
        }
    }

    #[test]
    fn tiles_mean_their_regions(program in program(tiles_and_regions(), 90)) {
        let mut map = RegionMap::<u32>::growing(Matching::Overlap);
        let tiled = map.register(TensorId(0), &SHAPE, &TILE).expect("it is not in use");
        let counts = [0, 1, 2].map(|d| tiled.counts()[d]);
        prop_assert_eq!(counts, [2, 4, 3]);
        let mut tiles: Vec<(Region, TileRef)> = Vec::new();
        for at in (0..2).flat_map(|i| (0..4).flat_map(move |j| (0..3).map(move |k| [i, j, k]))) {
            tiles.push((tiled.region(&at).expect("it is inside"), tiled.tile(&at).expect("it is inside")));
        }
        let expected = scanned(&program, overlap);
        for round in 0..2 {
            for (id, task) in (0..).zip(&program) {
                // Every other task names the regions that are tiles by their numbers.
                let named = |regions: &[Region]| -> (Vec<Region>, Vec<TileRef>) {
                    let name = |region: &Region| tiles.iter().find(|(tile, _)| tile == region).map(|(_, tile)| *tile);
                    let rest = regions.iter().filter(|r| (id + round) % 2 == 0 || name(r).is_none()).copied();
                    let tiles = regions.iter().filter(|_| (id + round) % 2 == 1).filter_map(name);
                    (rest.collect(), tiles.collect())
                };
                let ((reads, tile_reads), (writes, tile_writes)) = (named(&task.reads), named(&task.writes));
                let accesses = Accesses { reads: &reads, writes: &writes, tile_reads: &tile_reads, tile_writes: &tile_writes };
                let mut found = Vec::new();
                map.infer(id, accesses, |_| true, |other, hazard| found.push((other, hazard))).expect("it grows");
                prop_assert_eq!(&found, &expected[id as usize]);
            }
            map.retire(|_| false);
        }
    }

    #[test]
    fn writers_of_a_region_are_those_of_a_scan_and_the_producer_is_its_own_or_the_latest(
        program in program(region(), 60),
        queries in proptest::collection::vec(region(), 20),
    ) {
        let mut map = RegionMap::growing(Matching::Overlap);
        inferred(&mut map, &program);
        let mut scan = Scan::default();
        for (id, task) in (0..).zip(&program) {
            scan.submit(id, task, overlap);
        }
        for query in queries {
            let hits = |equal: bool| {
                let hits = scan.writes.iter().filter(|(_, old)| old.overlaps(&query) && (!equal || *old == query));
                hits.map(|(writer, _)| *writer).collect::<std::collections::BTreeSet<u32>>()
            };
            let mut found = Vec::new();
            map.writers_of(&query, |writer| found.push(writer));
            prop_assert!(found.iter().eq(&hits(false)), "{:?} {:?}", found, hits(false));
            let producer = hits(true).last().copied().or(hits(false).last().copied());
            prop_assert_eq!(map.find_producer(&query), producer);
        }
    }
}

#[test]
fn a_region_inside_a_later_one_of_its_task_is_forgotten() {
    let rows = |lo, hi| Region::new(TensorId(0), &[lo], &[hi]).expect("ranks agree");
    let writes = |regions: &[Region]| Task { reads: Vec::new(), writes: regions.to_vec() };
    let mut map = RegionMap::growing(Matching::Overlap);
    inferred(&mut map, &[writes(&[rows(4, 8), rows(4, 11)]), writes(&[rows(4, 7)])]);
    // Nobody wrote these rows and no others, as far as is known: the latest writer of some of them counts.
    assert_eq!(map.find_producer(&rows(4, 8)), Some(1));
    assert_eq!(map.find_producer(&rows(4, 11)), Some(0));
}

const SHAPE: [u32; 3] = [6, 16, 9];
const TILE: [u32; 3] = [4, 4, 4];

/// Tiles of the registered tensor, parts of them, and regions over several.
fn tiles_and_regions() -> impl Strategy<Value = Region> + Clone {
    ([0..2u32, 0..4u32, 0..3u32], 0..6u32).prop_map(|(at, how)| {
        let lo: [u32; 3] = std::array::from_fn(|d| at[d] * TILE[d]);
        let hi: [u32; 3] = std::array::from_fn(|d| (lo[d] + TILE[d]).min(SHAPE[d]));
        match how {
            0 => Region::new(TensorId(0), &[lo[0], lo[1], lo[2]], &[hi[0], hi[1] + 2, hi[2]]),
            1 => Region::new(TensorId(0), &[lo[0], lo[1] + 1, lo[2]], &[hi[0], hi[1], hi[2]]),
            _ => Region::new(TensorId(0), &lo, &hi),
        }
        .expect("ranks agree")
    })
}
