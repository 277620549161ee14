//! Bytes of memories and elements of tensors, with who touched them last.

use super::clock::{Clocks, Stamp};
use super::{Fault, TensorData};
use crate::{Buffer, BufferId, Memories, TileProgram, codes};
use half::{bf16, f16};
use wsp_core::{DType, TensorId, fp8};

/// The last writer of a byte or an element, and its readers since, one per unit.
#[derive(Clone, Debug, Default)]
struct Last {
    write: Option<Stamp>,
    reads: Vec<Stamp>,
}

impl Last {
    /// The unit that runs may read or write here, or a fault with both instructions. `what` names the place.
    fn touch(
        &mut self,
        stamp: Stamp,
        write: bool,
        clocks: &Clocks<'_>,
        what: &dyn Fn() -> String,
    ) -> Result<(), Fault> {
        let reads = self.reads.iter().filter(|_| write);
        // An instruction may work in place.
        let unknown = |other: &&Stamp| **other != stamp && !clocks.knows(stamp.unit, other);
        if let Some(other) = self.write.iter().chain(reads).find(unknown) {
            let [one, two] = [other.unit, stamp.unit].map(|unit| clocks.unit_name(unit));
            let message = format!(
                "%{} on {two} touches {} and does not wait for %{} on {one}, which {}",
                stamp.instruction,
                what(),
                other.instruction,
                if self.write == Some(*other) { "writes there" } else { "reads there" },
            );
            return Err(Fault::pair(codes::RACE, message, other.instruction, stamp.instruction));
        }
        if write {
            self.write = Some(stamp);
            self.reads.clear();
        } else {
            self.reads.retain(|other| other.unit != stamp.unit);
            self.reads.push(stamp);
        }
        Ok(())
    }
}

/// A byte of a memory.
#[derive(Clone, Debug, Default)]
struct Byte {
    /// Its value, the buffer that it belongs to and the instruction that wrote it; none before the first write.
    value: Option<(u8, BufferId, u32)>,
    last: Last,
}

/// All memories of a core, and the clocks of tensors.
#[derive(Default)]
pub(super) struct Bytes {
    memories: Vec<Vec<Byte>>,
    tensors: Vec<Vec<Last>>,
}

/// A buffer in one round: where it is.
#[derive(Clone, Copy)]
pub(super) struct Window<'p> {
    pub(super) program: &'p TileProgram,
    pub(super) memories: &'p Memories,
    pub(super) id: BufferId,
    /// The address in this round.
    pub(super) at: u64,
}

impl<'p> Window<'p> {
    pub(super) fn buffer(&self) -> &'p Buffer {
        self.program.buffer(self.id)
    }

    /// The first byte of an element.
    fn element(&self, row: u32, col: u32) -> Result<usize, Fault> {
        let buffer = self.buffer();
        let memory = self.memories.memory(buffer.memory);
        let size = buffer.elem.size() as u64;
        let within = u64::from(row).saturating_mul(buffer.row_bytes).saturating_add(u64::from(col) * size);
        let at = self.at.saturating_add(within);
        let fits = row < buffer.rows && col < buffer.cols && within + size <= buffer.bytes;
        if !fits || at.saturating_add(size) > memory.capacity {
            let message = format!(
                "element ({row}, {col}) of `{}`, {} x {} in {} bytes, is at byte {at} of {}, which has {}",
                buffer.name, buffer.rows, buffer.cols, buffer.bytes, memory.name, memory.capacity
            );
            return Err(Fault::new(codes::BOUNDS, message));
        }
        usize::try_from(at).map_err(|_| Fault::new(codes::BOUNDS, format!("byte {at} of {}", memory.name)))
    }
}

impl Bytes {
    fn byte(&mut self, memory: usize, at: usize) -> &mut Byte {
        if self.memories.len() <= memory {
            self.memories.resize_with(memory + 1, Vec::new);
        }
        let bytes = &mut self.memories[memory];
        if bytes.len() <= at {
            bytes.resize_with(at + 1, Byte::default);
        }
        &mut bytes[at]
    }

    /// The value of an element.
    pub(super) fn read(&mut self, of: Window<'_>, row: u32, col: u32) -> Result<f32, Fault> {
        let at = of.element(row, col)?;
        let (buffer, mut raw) = (of.buffer(), [0u8; 4]);
        let size = arithmetic(buffer.elem, &buffer.name)?;
        for (i, to) in raw.iter_mut().enumerate().take(size) {
            match self.byte(buffer.memory.index(), at + i).value {
                Some((value, owner, _)) if owner == of.id => *to = value,
                Some((_, owner, writer)) => {
                    let other = &of.program.buffer(owner).name;
                    let message = format!(
                        "element ({row}, {col}) of `{}` was overwritten with `{other}` by %{writer}",
                        buffer.name
                    );
                    return Err(Fault::new(codes::UNWRITTEN, message).after(writer));
                }
                None => {
                    let message =
                        format!("element ({row}, {col}) of `{}` is read and not written", buffer.name);
                    return Err(Fault::new(codes::UNWRITTEN, message));
                }
            }
        }
        Ok(decode(buffer.elem, raw))
    }

    /// Gives an element a value.
    pub(super) fn write(
        &mut self,
        of: Window<'_>,
        (row, col): (u32, u32),
        value: f32,
        writer: u32,
    ) -> Result<(), Fault> {
        let at = of.element(row, col)?;
        let buffer = of.buffer();
        let size = arithmetic(buffer.elem, &buffer.name)?;
        for (i, value) in encode(buffer.elem, value).into_iter().enumerate().take(size) {
            self.byte(buffer.memory.index(), at + i).value = Some((value, of.id, writer));
        }
        Ok(())
    }

    /// Forgets what a buffer holds: it gets a new result, which may be smaller.
    pub(super) fn forget(&mut self, of: Window<'_>) {
        let Some(bytes) = self.memories.get_mut(of.buffer().memory.index()) else { return };
        let from = usize::try_from(of.at).unwrap_or(usize::MAX).min(bytes.len());
        let to =
            usize::try_from(of.at.saturating_add(of.buffer().bytes)).unwrap_or(usize::MAX).min(bytes.len());
        for byte in &mut bytes[from..to] {
            byte.value = byte.value.filter(|(_, owner, _)| *owner != of.id);
        }
    }

    /// An instruction uses all bytes of a buffer for itself.
    pub(super) fn spoil(&mut self, of: Window<'_>, stamp: Stamp, clocks: &Clocks<'_>) -> Result<(), Fault> {
        let buffer = of.buffer();
        let memory = of.memories.memory(buffer.memory);
        let end = of.at.saturating_add(buffer.bytes);
        if end > memory.capacity {
            let message = format!(
                "`{}` ends at byte {end} of {}, which has {}",
                buffer.name, memory.name, memory.capacity
            );
            return Err(Fault::new(codes::BOUNDS, message));
        }
        for byte in of.at as usize..end as usize {
            let what = || format!("byte {byte} of {}", memory.name);
            let found = self.byte(buffer.memory.index(), byte);
            found.last.touch(stamp, true, clocks, &what)?;
            found.value = None;
        }
        Ok(())
    }

    /// An instruction touches an element of a buffer.
    pub(super) fn touch(
        &mut self,
        of: Window<'_>,
        (row, col): (u32, u32),
        stamp: Stamp,
        write: bool,
        clocks: &Clocks<'_>,
    ) -> Result<(), Fault> {
        let at = of.element(row, col)?;
        let buffer = of.buffer();
        for byte in at..at + buffer.elem.size() {
            let what = || format!("byte {byte} of {}", of.memories.memory(buffer.memory).name);
            self.byte(buffer.memory.index(), byte).last.touch(stamp, write, clocks, &what)?;
        }
        Ok(())
    }

    /// An instruction touches an element of a tensor, by its place.
    pub(super) fn touch_tensor(
        &mut self,
        (tensor, at): (TensorId, usize),
        stamp: Stamp,
        write: bool,
        clocks: &Clocks<'_>,
    ) -> Result<(), Fault> {
        if self.tensors.len() <= tensor.index() {
            self.tensors.resize_with(tensor.index() + 1, Vec::new);
        }
        let elements = &mut self.tensors[tensor.index()];
        if elements.len() <= at {
            elements.resize_with(at + 1, Last::default);
        }
        elements[at].touch(stamp, write, clocks, &|| format!("element {at} of t{}", tensor.0))
    }
}

/// The place of an element of a tensor.
pub(super) fn position(data: &TensorData, tensor: TensorId, index: &[u64]) -> Result<usize, Fault> {
    let fits = index.len() == data.dims.len() && index.iter().zip(&data.dims).all(|(i, n)| *i < *n as u64);
    if !fits {
        let message =
            format!("element {index:?} lies outside of t{}, which has extents {:?}", tensor.0, data.dims);
        return Err(Fault::new(codes::BOUNDS, message));
    }
    let at = index.iter().zip(&data.dims).fold(0usize, |at, (i, n)| at * n + *i as usize);
    if at >= data.values.len() {
        let have = data.values.len();
        return Err(Fault::new(
            codes::BOUNDS,
            format!("element {at} of t{}, which is given {have}", tensor.0),
        ));
    }
    Ok(at)
}

/// Bytes of an element whose arithmetic is that of `f32`, or a fault.
pub(super) fn arithmetic(elem: DType, name: &str) -> Result<usize, Fault> {
    if elem == DType::F32 || elem.is_short_float() {
        return Ok(elem.size());
    }
    let message =
        format!("`{name}` has elements of type {elem}, and tile programs run on f32 and shorter floats");
    Err(Fault::new(codes::NOT_SUPPORTED, message))
}

fn decode(elem: DType, raw: [u8; 4]) -> f32 {
    let two = u16::from_le_bytes([raw[0], raw[1]]);
    match elem {
        DType::F16 => f16::from_bits(two).to_f32(),
        DType::Bf16 => bf16::from_bits(two).to_f32(),
        DType::F8E4m3 => fp8::e4m3_to_f32(raw[0]),
        DType::F8E5m2 => fp8::e5m2_to_f32(raw[0]),
        _ => f32::from_le_bytes(raw),
    }
}

fn encode(elem: DType, value: f32) -> [u8; 4] {
    let two = |bits: u16| {
        let [low, high] = bits.to_le_bytes();
        [low, high, 0, 0]
    };
    match elem {
        DType::F16 => two(f16::from_f32(value).to_bits()),
        DType::Bf16 => two(bf16::from_f32(value).to_bits()),
        DType::F8E4m3 => [fp8::e4m3_from_f32(value), 0, 0, 0],
        DType::F8E5m2 => [fp8::e5m2_from_f32(value), 0, 0, 0],
        _ => value.to_le_bytes(),
    }
}

/// The value that an array of this element type holds for a number.
pub(super) fn rounded(elem: DType, value: f32) -> f32 {
    decode(elem, encode(elem, value))
}
