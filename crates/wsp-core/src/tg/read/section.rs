//! The directory of sections.

use super::error::{DirectoryFault, ReadError, too_short};
use crate::tg::wire::{HEADER_BYTES, SECTION_ALIGNMENT, Section, SectionRow};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// A section's bytes; none if the file does not have it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) count: u32,
    /// Where its row of the directory stands.
    offset: u64,
    kind: u32,
}

impl Found<'_> {
    /// The bytes are not those of so many rows.
    pub(super) fn wrong_size(&self) -> ReadError {
        let fault = DirectoryFault::Size { bytes: self.bytes.len() as u64, count: self.count };
        ReadError::Directory { offset: self.offset, kind: self.kind, fault }
    }
}

/// The sections that a file has of those that are known.
pub(super) struct Sections<'a> {
    found: [Option<Found<'a>>; Section::COUNT],
}

impl<'a> Sections<'a> {
    /// Reads the directory, with which `rest` begins, of a file.
    pub(super) fn find(rest: &'a [u8], count: u32, file: &'a [u8]) -> Result<Sections<'a>, ReadError> {
        let len = file.len() as u64;
        let begin = u64::from(HEADER_BYTES);
        let need = u64::from(count) * size_of::<SectionRow>() as u64;
        let (rows, _) = <[SectionRow]>::ref_from_prefix_with_elems(rest, count as usize)
            .map_err(|_| too_short("directory of sections", begin, need, len))?;
        let mut sections = Sections { found: [None; Section::COUNT] };
        let mut end = begin + need;
        for (at, row) in rows.iter().enumerate() {
            let offset = begin + at as u64 * size_of::<SectionRow>() as u64;
            end = sections.add(row, offset, end, file).map_err(|fault| ReadError::Directory {
                offset,
                kind: row.kind.get(),
                fault,
            })?;
        }
        match len.saturating_sub(end) {
            0 => Ok(sections),
            extra => Err(ReadError::Trailing { offset: end, extra }),
        }
    }

    /// Adds a section that follows byte `end`; its own end, up to which padding counts.
    fn add(
        &mut self,
        row: &SectionRow,
        offset: u64,
        end: u64,
        file: &'a [u8],
    ) -> Result<u64, DirectoryFault> {
        let (start, bytes, have) = (row.offset.get(), row.bytes.get(), file.len() as u64);
        if !start.is_multiple_of(SECTION_ALIGNMENT) {
            return Err(DirectoryFault::Misaligned);
        }
        if start < end {
            return Err(DirectoryFault::Overlaps { offset: start, end });
        }
        let section_end = start.saturating_add(bytes);
        let beyond = DirectoryFault::Beyond { end: section_end, have };
        let bytes = usize::try_from(start)
            .ok()
            .zip(usize::try_from(section_end).ok())
            .and_then(|(start, end)| file.get(start..end))
            .ok_or(beyond)?;
        let kind = row.kind.get();
        if let Some(place) = self.found.get_mut(kind as usize).filter(|_| kind != 0) {
            if place.is_some() {
                return Err(DirectoryFault::Twice);
            }
            *place = Some(Found { bytes, count: row.count.get(), offset, kind });
        }
        let padded = section_end.next_multiple_of(SECTION_ALIGNMENT);
        if padded > have { Err(DirectoryFault::Beyond { end: padded, have }) } else { Ok(padded) }
    }

    /// A section.
    pub(super) fn get(&self, section: Section) -> Found<'a> {
        self.found.get(section as usize).copied().flatten().unwrap_or_default()
    }

    /// The rows of a section.
    pub(super) fn rows<T: FromBytes + Immutable + KnownLayout>(
        &self,
        section: Section,
    ) -> Result<&'a [T], ReadError> {
        let found = self.get(section);
        <[T]>::ref_from_bytes_with_elems(found.bytes, found.count as usize).map_err(|_| found.wrong_size())
    }

    /// The words of a section whose rows are words.
    pub(super) fn words(&self, section: Section) -> Result<&'a [U32], ReadError> {
        let found = self.get(section);
        let words = section.row_words().unwrap_or(1).saturating_mul(found.count as usize);
        <[U32]>::ref_from_bytes_with_elems(found.bytes, words).map_err(|_| found.wrong_size())
    }
}
