//! An [`Image`] as bytes: what a compiler on the host hands to a device.
//!
//! An [`ImageHeader`], then its lists in the order of [`Image`]: nodes, needs, successors, guards, decisions, loops, gangs,
//! members. Everything is a 32-bit word in the order of the machine that runs it.

use super::image::{
    DecisionRecord, GangRecord, GuardRecord, Image, ImageFault, LevelRecord, LoopRecord, NodeRecord,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// "PTGI", as a number.
pub const IMAGE_MAGIC: u32 = 0x5054_4749;
/// The version of the layout.
pub const IMAGE_VERSION: u32 = 1;

/// What the bytes of an image begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ImageHeader {
    /// [`IMAGE_MAGIC`].
    pub magic: u32,
    /// [`IMAGE_VERSION`].
    pub version: u32,
    /// Nodes, and counts of edges to them.
    pub nodes: u32,
    /// Successors.
    pub succs: u32,
    /// Guards.
    pub guards: u32,
    /// Decisions.
    pub decisions: u32,
    /// Loops.
    pub loops: u32,
    /// Gangs.
    pub gangs: u32,
    /// Members of gangs.
    pub members: u32,
    /// [`Image::fingerprint`].
    pub fingerprint: u32,
    /// [`Image::top`].
    pub top: LevelRecord,
}

const _: () = {
    assert!(size_of::<ImageHeader>() == 56 && core::mem::offset_of!(ImageHeader, top) == 40);
    assert!(size_of::<NodeRecord>() == 24 && size_of::<GuardRecord>() == 8);
    assert!(
        size_of::<DecisionRecord>() == 16 && size_of::<LoopRecord>() == 32 && size_of::<GangRecord>() == 8
    );
};

/// Why bytes are no image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageReadError {
    /// The bytes do not begin at a multiple of 4 in memory.
    Misaligned,
    /// The first word is not [`IMAGE_MAGIC`].
    Magic(u32),
    /// The version is not [`IMAGE_VERSION`].
    Version(u32),
    /// The bytes are fewer or more than the counts say.
    Size {
        /// Bytes that the counts ask for, as far as they can be counted.
        need: u64,
        /// Bytes that there are.
        have: u64,
    },
    /// The fingerprint is not that of the records.
    Fingerprint {
        /// What the bytes say.
        stored: u32,
        /// What it is.
        computed: u32,
    },
    /// A number in it is wrong.
    Image(ImageFault),
}

/// The parts of an image's bytes, one after another.
pub fn parts<'p>(image: &Image<'p>, header: &'p ImageHeader) -> [&'p [u8]; 9] {
    [
        header.as_bytes(),
        image.nodes.as_bytes(),
        image.needs.as_bytes(),
        image.succs.as_bytes(),
        image.guards.as_bytes(),
        image.decisions.as_bytes(),
        image.loops.as_bytes(),
        image.gangs.as_bytes(),
        image.members.as_bytes(),
    ]
}

impl ImageHeader {
    /// The header of an image.
    pub fn new(image: &Image<'_>) -> ImageHeader {
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        ImageHeader {
            magic: IMAGE_MAGIC,
            version: IMAGE_VERSION,
            nodes: count(image.nodes.len()),
            succs: count(image.succs.len()),
            guards: count(image.guards.len()),
            decisions: count(image.decisions.len()),
            loops: count(image.loops.len()),
            gangs: count(image.gangs.len()),
            members: count(image.members.len()),
            fingerprint: image.fingerprint,
            top: image.top,
        }
    }

    /// Bytes of the whole image.
    const fn bytes(&self) -> u64 {
        let records = self.nodes as u64 * 28
            + self.succs as u64 * 4
            + self.guards as u64 * 8
            + self.decisions as u64 * 16
            + self.loops as u64 * 32
            + self.gangs as u64 * 8
            + self.members as u64 * 4;
        size_of::<ImageHeader>() as u64 + records
    }
}

/// The image that bytes hold, checked but for [`Image::check`].
///
/// # Errors
/// As [`ImageReadError`] tells.
pub fn read(bytes: &[u8]) -> Result<Image<'_>, ImageReadError> {
    let have = bytes.len() as u64;
    let short = ImageReadError::Size { need: size_of::<ImageHeader>() as u64, have };
    if bytes.len() < size_of::<ImageHeader>() {
        return Err(short);
    }
    if !bytes.as_ptr().addr().is_multiple_of(4) {
        return Err(ImageReadError::Misaligned);
    }
    let (header, rest) = ImageHeader::ref_from_prefix(bytes).map_err(|_| short)?;
    if header.magic != IMAGE_MAGIC {
        return Err(ImageReadError::Magic(header.magic));
    }
    if header.version != IMAGE_VERSION {
        return Err(ImageReadError::Version(header.version));
    }
    let wrong = ImageReadError::Size { need: header.bytes(), have };
    if header.bytes() != have {
        return Err(wrong);
    }
    let image = lists(header, rest).ok_or(wrong)?;
    let (stored, computed) = (header.fingerprint, image.fingerprint_of());
    if stored != computed {
        return Err(ImageReadError::Fingerprint { stored, computed });
    }
    Ok(image)
}

fn lists<'a>(header: &ImageHeader, mut rest: &'a [u8]) -> Option<Image<'a>> {
    Some(Image {
        nodes: take(&mut rest, header.nodes)?,
        needs: take(&mut rest, header.nodes)?,
        succs: take(&mut rest, header.succs)?,
        guards: take(&mut rest, header.guards)?,
        decisions: take(&mut rest, header.decisions)?,
        loops: take(&mut rest, header.loops)?,
        gangs: take(&mut rest, header.gangs)?,
        members: take(&mut rest, header.members)?,
        top: header.top,
        fingerprint: header.fingerprint,
    })
}

/// The next list.
fn take<'a, T: FromBytes + Immutable + KnownLayout>(rest: &mut &'a [u8], count: u32) -> Option<&'a [T]> {
    let (list, behind) = <[T]>::ref_from_prefix_with_elems(rest, count as usize).ok()?;
    *rest = behind;
    Some(list)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;
    use zerocopy::FromZeros;

    fn zeros<T: FromZeros + Copy, const N: usize>() -> [T; N] {
        [T::new_zeroed(); N]
    }

    /// Calls `f` with the words of an image whose lists have lengths of their own.
    fn with_words<R>(f: impl FnOnce(&mut [u32]) -> R) -> R {
        let mut image = Image {
            nodes: &zeros::<_, 2>(),
            needs: &[5, 6],
            succs: &[1, 2, 3],
            guards: &zeros::<_, 4>(),
            decisions: &zeros::<_, 5>(),
            loops: &zeros::<_, 6>(),
            gangs: &zeros::<_, 7>(),
            members: &[9; 8],
            top: LevelRecord { first: 0, len: 2, first_gang: 0, gangs: 1 },
            fingerprint: 0,
        };
        image.fingerprint = image.fingerprint_of();
        let header = ImageHeader::new(&image);
        let bytes = parts(&image, &header).concat();
        let mut words: Vec<u32> =
            bytes.chunks_exact(4).map(|word| u32::read_from_bytes(word).expect("4 bytes")).collect();
        f(&mut words)
    }

    #[test]
    fn an_image_is_read_as_it_was_written() {
        with_words(|words| {
            let image = read(words.as_bytes()).expect("the bytes should be an image");
            let lists = [image.nodes.len(), image.succs.len(), image.guards.len(), image.decisions.len()];
            assert_eq!(lists, [2, 3, 4, 5]);
            assert_eq!((image.loops.len(), image.gangs.len()), (6, 7));
            assert_eq!((image.needs, image.members, image.top.gangs), (&[5, 6][..], &[9; 8][..], 1));
        });
    }

    #[test]
    fn bytes_that_are_no_image_are_refused_with_the_reason() {
        let fault = |at: usize, value| {
            with_words(|words| {
                words[at] = value;
                read(words.as_bytes()).expect_err("it is wrong")
            })
        };
        assert_eq!(fault(0, 1), ImageReadError::Magic(1));
        assert_eq!(fault(1, 9), ImageReadError::Version(9));
        let have = with_words(|words| words.len() as u64 * 4);
        // A word of one list more.
        for (at, size) in [(2, 28), (3, 4), (4, 8), (5, 16), (6, 32), (7, 8), (8, 4)] {
            let count = with_words(|words| words[at]);
            assert_eq!(fault(at, count + 1), ImageReadError::Size { need: have + size, have });
        }
        assert!(matches!(fault(14, 1), ImageReadError::Fingerprint { .. }));
        let short = with_words(|words| read(&words.as_bytes()[..52]).expect_err("it is short"));
        assert_eq!(short, ImageReadError::Size { need: 56, have: 52 });
    }
}
