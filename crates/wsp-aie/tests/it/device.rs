//! What arrays have.

use wsp_aie::device::{Bundle, Device, Tile, TileKind, XDNA1, XDNA2};

#[test]
fn arrays_have_their_columns_and_rows() {
    assert_eq!((XDNA1.cols, XDNA2.cols), (4, 8));
    assert_eq!(XDNA2.tiles().count(), 48);
    let compute = XDNA2.tiles().filter(|tile| XDNA2.kind(*tile) == Some(TileKind::Compute)).count();
    assert_eq!(compute, 32);
    assert_eq!(XDNA1.kind(Tile::new(4, 0)), None);
    assert_eq!(Device::of_number(8), Some(XDNA2));
    assert_eq!(Device::of_number(1), None);
}

#[test]
fn cores_reach_west_north_and_south() {
    let core = Tile::new(1, 3);
    let reached: Vec<Tile> = XDNA2.tiles().filter(|tile| core.reaches(*tile)).collect();
    assert_eq!(reached, [Tile::new(0, 3), Tile::new(1, 2), core, Tile::new(1, 4)]);
    assert!(!Tile::new(1, 2).reaches(Tile::new(1, 1)));
    assert!(core.shares_with(Tile::new(2, 3)) && !core.shares_with(Tile::new(3, 3)));
}

#[test]
fn streams_between_tiles_match() {
    for tile in XDNA2.tiles() {
        let above = Tile::new(tile.col, tile.row + 1);
        if XDNA2.kind(above).is_some() {
            assert_eq!(XDNA2.ports(tile, Bundle::North).0, XDNA2.ports(above, Bundle::South).1, "{tile}");
            assert_eq!(XDNA2.ports(above, Bundle::South).0, XDNA2.ports(tile, Bundle::North).1, "{tile}");
        }
        let right = Tile::new(tile.col + 1, tile.row);
        if XDNA2.kind(right).is_some() {
            assert_eq!(XDNA2.ports(tile, Bundle::East).0, XDNA2.ports(right, Bundle::West).1, "{tile}");
        }
    }
}

#[test]
fn memory_tiles_pass_streams_straight() {
    let tile = Tile::new(2, 1);
    assert!(XDNA2.connects(tile, (Bundle::South, 2), (Bundle::North, 2)));
    assert!(!XDNA2.connects(tile, (Bundle::South, 2), (Bundle::North, 3)));
    assert!(!XDNA2.connects(tile, (Bundle::South, 0), (Bundle::East, 0)));
    assert!(XDNA2.connects(Tile::new(2, 2), (Bundle::South, 2), (Bundle::North, 3)));
    assert!(!XDNA2.connects(Tile::new(2, 5), (Bundle::South, 2), (Bundle::North, 3)));
    assert!(!XDNA2.connects(Tile::new(2, 2), (Bundle::East, 0), (Bundle::East, 1)));
}

#[test]
fn halves_of_descriptors_belong_to_channels() {
    let (memory, core) = (TileKind::Memory.model(), TileKind::Compute.model());
    assert!(memory.takes(0, 23) && !memory.takes(0, 24) && memory.takes(5, 24) && !memory.takes(5, 48));
    assert!(core.takes(1, 0) && !core.takes(1, 16));
    assert_eq!((core.size_max(), memory.size_max()), (255, 1023));
}
