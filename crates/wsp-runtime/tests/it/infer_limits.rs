//! Many readers, many regions, little room, misuse.

use wsp_core::{MAX_RANK, Region, TaskId, TensorId};
use wsp_runtime::infer::{
    Accesses, Capacity, Hazard, MapError, Matching, RegionMap, SlotTask, Store, TaskHandle, TensorMap,
    TileRef, TilingError,
};

fn rows(tensor: u32, lo: u32, hi: u32) -> Region {
    Region::new(TensorId(tensor), &[lo, 0], &[hi, 128]).expect("ranks agree")
}

fn submit(map: &mut RegionMap<u32>, task: u32, reads: &[Region], writes: &[Region]) -> Vec<(u32, Hazard)> {
    let mut found = Vec::new();
    map.infer(task, Accesses::new(reads, writes), |_| true, |other, hazard| found.push((other, hazard)))
        .expect("there is room");
    found
}

fn overlap() -> RegionMap<u32> {
    RegionMap::growing(Matching::Overlap)
}

#[test]
fn task_0_is_found_as_a_producer() {
    let mut map = overlap();
    submit(&mut map, 0, &[], &[rows(0, 0, 32)]);
    assert_eq!(submit(&mut map, 1, &[rows(0, 0, 32)], &[]), [(0, Hazard::Raw)]);
    assert_eq!(map.find_producer(&rows(0, 5, 6)), Some(0));
    assert_eq!(map.find_producer(&rows(1, 5, 6)), None);
}

#[test]
fn tasks_from_a_number_on_are_kept_by_that_number() {
    let mut map = RegionMap::<TaskId>::growing(Matching::Overlap);
    let tile = [rows(0, 0, 32)];
    map.infer(TaskId(5), Accesses::new(&[], &tile), |_| true, |_, _| ()).expect("there is room");
    map.gc_before(5, |_| false);
    assert_eq!(map.find_producer(&tile[0]), Some(TaskId(5)));
    map.gc_before(6, |_| false);
    assert_eq!(map.find_producer(&tile[0]), None);
}

#[test]
fn a_partial_overwrite_leaves_both_producers_and_a_covering_one_only_the_last() {
    let mut map = overlap();
    submit(&mut map, 0, &[], &[rows(0, 0, 64)]);
    assert_eq!(submit(&mut map, 1, &[], &[rows(0, 32, 64)]), [(0, Hazard::Waw)]);
    assert_eq!(submit(&mut map, 2, &[rows(0, 0, 64)], &[]), [(0, Hazard::Raw), (1, Hazard::Raw)]);
    assert_eq!(
        submit(&mut map, 3, &[], &[rows(0, 0, 96)]),
        [(0, Hazard::Waw), (1, Hazard::Waw), (2, Hazard::War)]
    );
    assert_eq!(submit(&mut map, 4, &[rows(0, 0, 64)], &[]), [(3, Hazard::Raw)]);
}

#[test]
fn a_task_does_not_wait_for_itself_and_empty_regions_touch_nothing() {
    let mut map = overlap();
    let regions = [rows(0, 0, 64), rows(0, 32, 96), rows(0, 7, 7)];
    assert_eq!(submit(&mut map, 0, &regions, &regions), []);
    assert_eq!(submit(&mut map, 1, &[rows(0, 7, 7)], &[rows(0, 50, 50)]), []);
    assert_eq!(submit(&mut map, 2, &[rows(0, 50, 51)], &[]), [(0, Hazard::Raw)]);
}

#[test]
fn every_reader_of_a_tile_is_waited_for_once_however_many() {
    let mut map = overlap();
    let tile = [rows(0, 0, 32)];
    submit(&mut map, 0, &[], &tile);
    for round in 0..3 {
        let first = 1 + round * 100_001;
        for task in first..first + 100_000 {
            assert_eq!(submit(&mut map, task, &tile, &[]).len(), 1);
        }
        let found = submit(&mut map, first + 100_000, &[], &[rows(0, 0, 32), rows(0, 0, 64)]);
        let expected = (first..first + 100_000).map(|task| (task, Hazard::War));
        assert!(found[1..].iter().copied().eq(expected), "round {round}");
        assert_eq!(found[0], (first - 1, Hazard::Waw));
    }
}

#[test]
fn all_of_100_distinct_regions_are_found() {
    let mut map = overlap();
    for i in 0..100 {
        submit(&mut map, i, &[], &[rows(0, 32 * i, 32 * i + 32)]);
    }
    for i in 0..100 {
        assert_eq!(submit(&mut map, 100 + i, &[rows(0, 32 * i, 32 * i + 32)], &[]), [(i, Hazard::Raw)]);
    }
    let found = submit(&mut map, 200, &[rows(0, 0, 3200)], &[]);
    assert!(found.into_iter().eq((0..100).map(|i| (i, Hazard::Raw))));
}

#[test]
fn regular_strides_and_growing_prefixes_stay_cheap() {
    let mut map = overlap();
    let mut task = 0;
    for stride in [1u32, 32, 16 << 10, 1 << 16] {
        map.clear();
        for i in 0..20_000 {
            let row = rows(stride, i * stride, i * stride + 1);
            assert!(submit(&mut map, task, &[row], &[row]).is_empty());
            task += 1;
        }
    }
    // Each covers the one before.
    for i in 1..20_000 {
        let found = submit(&mut map, task, &[], &[rows(7, 0, i)]);
        assert_eq!(found.len(), usize::from(i > 1));
        task += 1;
    }
    // Read only: no business of each other.
    for i in 1..20_000 {
        assert!(submit(&mut map, task, &[rows(8, 0, i)], &[]).is_empty());
        task += 1;
    }
    assert!(map.bytes() < 64 << 20, "{}", map.bytes());
}

#[test]
fn memory_of_a_stream_is_that_of_the_tasks_in_flight() {
    let mut map = RegionMap::<SlotTask>::growing(Matching::Overlap);
    let mut most = 0;
    for task in 0..400_000u32 {
        // A tile after the other, a part of a tile, and one tile that all read.
        let reads = [rows(0, 32 * task, 32 * task + 32), rows(1, 0, 32), rows(2, 7 * task + 1, 7 * task + 6)];
        let writes = [rows(0, 32 * task + 32, 32 * task + 64), rows(2, 7 * task + 7, 7 * task + 14)];
        let mut found = Vec::new();
        map.infer(
            SlotTask { task, slot: task % 64 },
            Accesses::new(&reads, &writes),
            |other| other.task + 64 > task,
            |other, _| found.push(other.task),
        )
        .unwrap();
        assert!(found.into_iter().eq(task.checked_sub(1)), "task {task}");
        if task == 100_000 {
            most = map.bytes();
        }
    }
    assert!(map.bytes() <= most, "{} of {most}", map.bytes());
}

#[test]
fn memory_of_regions_that_are_written_once_is_that_of_the_tasks_in_flight() {
    let mut map = overlap();
    let mut most = 0;
    for task in 0..200_000u32 {
        let write = [rows(0, 32 * task, 32 * task + 32)];
        let live = |other: u32| other + 64 > task;
        map.infer(task, Accesses::new(&[], &write), live, |_, _| panic!("nothing is shown")).unwrap();
        if task == 100_000 {
            most = map.bytes();
        }
    }
    assert!(map.bytes() <= most, "{} of {most}", map.bytes());
}

const SMALL: Capacity = Capacity { tensors: 2, regions: 8, readers: 16, overlaps: 8, accesses: 4 };

fn refused(map: &mut RegionMap<u32>, reads: &[Region], writes: &[Region]) -> MapError {
    map.infer(99, Accesses::new(reads, writes), |_| true, |_, _| panic!("nothing is shown"))
        .expect_err("it is full")
}

#[test]
fn a_full_map_refuses_says_what_is_full_and_has_lost_nothing() {
    let full = |store, capacity| MapError::Full { store, capacity };
    let mut map = RegionMap::fixed(Matching::Overlap, SMALL);
    for i in 0..8 {
        submit(&mut map, i, &[], &[rows(0, 32 * i, 32 * i + 32)]);
    }
    let more = [rows(0, 0, 32), rows(1, 0, 32)];
    let error = refused(&mut map, &[], &more);
    assert_eq!(error, full(Store::Regions, 8));
    assert_eq!(
        error.to_string(),
        "the tensor map is full: it holds 8 distinct regions; let tasks complete, or give it a larger capacity"
    );
    assert_eq!(submit(&mut map, 8, &[rows(0, 0, 32)], &[]), [(0, Hazard::Raw)]);
    assert_eq!(refused(&mut map, &[rows(0, 0, 1), rows(0, 1, 2)], &[]), full(Store::Regions, 8));
    // Tasks 0 to 3 complete: the same request fits, and what is live is still known.
    let mut found = Vec::new();
    let live = |task: u32| task > 3;
    map.infer(99, Accesses::new(&[], &more), live, |other, hazard| found.push((other, hazard))).unwrap();
    assert_eq!(found, [(8, Hazard::War)]);
    assert_eq!(submit(&mut map, 100, &[rows(0, 160, 192)], &[]), [(5, Hazard::Raw)]);

    let mut map = RegionMap::fixed(Matching::Overlap, SMALL);
    submit(&mut map, 0, &[rows(0, 0, 1), rows(1, 0, 1)], &[]);
    assert_eq!(refused(&mut map, &[rows(2, 0, 1)], &[]), full(Store::Tensors, 2));
    assert_eq!(refused(&mut map, &[rows(0, 0, 1); 5], &[]), full(Store::Accesses, 4));
    (1..=16).for_each(|task| assert!(submit(&mut map, task, &[rows(0, 0, 1)], &[]).is_empty()));
    assert_eq!(refused(&mut map, &[rows(0, 0, 1)], &[]), full(Store::Readers, 16));

    let mut map = RegionMap::fixed(Matching::Overlap, Capacity { overlaps: 2, ..SMALL });
    (0..3).for_each(|i| assert!(submit(&mut map, i, &[], &[rows(0, 32 * i, 32 * i + 32)]).is_empty()));
    assert_eq!(refused(&mut map, &[rows(0, 0, 96)], &[]), full(Store::Overlaps, 2));
    assert_eq!(submit(&mut map, 5, &[rows(0, 0, 64)], &[]), [(0, Hazard::Raw), (1, Hazard::Raw)]);
}

#[test]
fn a_fixed_map_does_not_allocate() {
    let capacity = Capacity { tensors: 64, regions: 2000, readers: 2000, overlaps: 20_000, accesses: 4 };
    let mut map = RegionMap::<SlotTask>::fixed(Matching::Overlap, capacity);
    let bytes = map.bytes();
    let mut state = 1u32;
    for task in 0..50_000u32 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = state >> 8;
        let region = rows(at % 50 * 200, at / 50 % 1000, at / 50 % 1000 + 1 + at % 40);
        let access = Accesses::new(std::slice::from_ref(&region), std::slice::from_ref(&region));
        let access = if task % 2 == 0 { access } else { Accesses { writes: &[], ..access } };
        let live = |other: SlotTask| other.task + 100 > task;
        map.infer(SlotTask { task, slot: 0 }, access, live, |_, _| ()).unwrap();
    }
    assert_eq!(map.bytes(), bytes);
}

#[test]
fn a_fixed_map_has_room_for_what_one_access_finds() {
    let capacity = Capacity { tensors: 1, regions: 500, readers: 1, overlaps: 500, accesses: 1 };
    let mut map = RegionMap::fixed(Matching::Overlap, capacity);
    (0..499).for_each(|i| assert!(submit(&mut map, i, &[], &[rows(0, 32 * i, 32 * i + 32)]).is_empty()));
    let bytes = map.bytes();
    assert_eq!(submit(&mut map, 499, &[], &[rows(0, 0, 32 * 499)]).len(), 499);
    assert_eq!(map.bytes(), bytes);
}

#[test]
fn a_conflict_of_unequal_regions_is_reported_once_with_both_tasks_and_regions() {
    let mut map = RegionMap::growing(Matching::Equal);
    let (tile, both) = (rows(0, 32, 64), rows(0, 0, 64));
    submit(&mut map, 0, &[], &[tile]);
    submit(&mut map, 1, &[tile], &[]);
    assert_eq!(map.conflict_count(), 0);
    for task in 2..5 {
        assert_eq!(submit(&mut map, task, &[both], &[]), []);
        submit(&mut map, task + 10, &[], &[tile]);
    }
    assert_eq!(map.conflict_count(), 1);
    let found = map.conflicts()[0];
    assert_eq!(
        (found.task, found.region, found.other, found.other_region, found.hazard),
        (2, both, 0, tile, Hazard::Raw)
    );
    map.clear();
    assert_eq!(map.conflict_count(), 0);
    submit(&mut map, 0, &[both], &[]);
    submit(&mut map, 1, &[], &[tile]);
    assert_eq!((map.conflict_count(), map.conflicts()[0].hazard), (1, Hazard::War));
}

#[test]
fn tensors_are_registered_once_in_time_and_with_sound_extents() {
    let mut map = overlap();
    submit(&mut map, 0, &[rows(0, 0, 32)], &[]);
    assert_eq!(map.register(TensorId(0), &[64], &[32]), Err(TilingError::InUse(TensorId(0))));
    assert_eq!(map.register(TensorId(1), &[64], &[32, 1]), Err(TilingError::Rank { shape: 1, tile: 2 }));
    assert_eq!(
        map.register(TensorId(1), &[64, 8], &[32, 0]),
        Err(TilingError::Extent { dim: 1, shape: 8, tile: 0 })
    );
    assert!(matches!(
        map.register(TensorId(1), &[u32::MAX; MAX_RANK], &[1; MAX_RANK]),
        Err(TilingError::Map(_))
    ));
    let tiled = map.register(TensorId(1), &[100, 128], &[32, 128]).unwrap();
    assert_eq!(map.register(TensorId(1), &[100], &[32]), Err(TilingError::InUse(TensorId(1))));
    assert_eq!(
        (tiled.tile(&[4, 0]), tiled.tile(&[0]), tiled.region(&[3, 0])),
        (None, None, Some(rows(1, 96, 100)))
    );
    let tile = tiled.tile(&[3, 0]).unwrap();
    map.infer(1, Accesses::tiles(&[], &[tile]), |_| true, |_, _| ()).unwrap();
    assert_eq!(submit(&mut map, 2, &[rows(1, 99, 120)], &[]), [(1, Hazard::Raw)]);
    let unknown = map.infer(3, Accesses::tiles(&[TileRef(77)], &[]), |_| true, |_, _| ());
    assert_eq!(unknown, Err(MapError::UnknownTile(TileRef(77))));
}

#[test]
fn the_number_that_is_no_task_is_refused() {
    let mut map = overlap();
    let error = map.infer(u32::NONE, Accesses::default(), |_| true, |_, _| ()).unwrap_err();
    assert_eq!(error, MapError::ReservedHandle);
}

#[test]
fn regions_at_the_far_end_of_the_index_space_are_regions() {
    let mut map = overlap();
    let end = |lo: u32| Region::new(TensorId(u32::MAX - 1), &[lo], &[u32::MAX]).unwrap();
    let all = Region::new(TensorId(u32::MAX - 1), &[0], &[u32::MAX]).unwrap();
    submit(&mut map, 0, &[], &[end(u32::MAX - 1)]);
    submit(&mut map, 1, &[], &[end(u32::MAX - 9)]);
    assert_eq!(submit(&mut map, 2, &[all], &[]), [(1, Hazard::Raw)]);
    assert_eq!(submit(&mut map, 3, &[], &[end(1 << 31)]), [(1, Hazard::Waw), (2, Hazard::War)]);
}
