//! The body of kernels that have none: mixes what a task reads into what it writes.
//!
//! Every element written depends on every element read, on the kernel and on the task's scalars. Two tasks that conflict
//! give other bits in the other order, so equal bits show that every dependence was kept.

use super::memory::{NeverStored, SharedTensor};
use wsp_core::{DType, Region};
use wsp_ir::workload::AccessMode;

/// Two odd constants of the 64-bit finaliser of MurmurHash3.
const MIX: [u64; 2] = [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53];

/// The 64-bit finaliser of MurmurHash3: every bit of the argument changes half of the result's.
pub(crate) fn mix(mut x: u64) -> u64 {
    for constant in MIX {
        x = (x ^ (x >> 33)).wrapping_mul(constant);
    }
    x ^ (x >> 33)
}

/// A digest that depends on all words and their order.
fn absorb(digest: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut digest = digest;
    for word in words {
        digest = (digest ^ u64::from_le_bytes(*word)).wrapping_mul(MIX[0]).rotate_left(29);
    }
    for byte in rest {
        digest = (digest ^ u64::from(*byte)).wrapping_mul(MIX[1]).rotate_left(31);
    }
    mix(digest)
}

/// Appends element `index` of what a task with this digest writes: reals from [1, 2), integers of any value, 0 and 1 as truth values.
fn element(dtype: DType, digest: u64, index: u64, into: &mut Vec<u8>) {
    let bits = mix(digest ^ index.wrapping_mul(MIX[1]));
    match dtype {
        DType::F64 => into.extend((0x3FF0_0000_0000_0000 | bits >> 12).to_le_bytes()),
        DType::F32 => into.extend((0x3F80_0000 | (bits >> 41) as u32).to_le_bytes()),
        DType::F16 => into.extend((0x3C00 | (bits >> 54) as u16).to_le_bytes()),
        DType::Bf16 => into.extend((0x3F80 | (bits >> 57) as u16).to_le_bytes()),
        DType::F8E4m3 => into.push(0x38 | (bits >> 61) as u8),
        DType::F8E5m2 => into.push(0x3C | (bits >> 62) as u8),
        DType::Bool => into.push(bits as u8 & 1),
        DType::U8 | DType::I8 => into.push(bits as u8),
        DType::U16 | DType::I16 => into.extend((bits as u16).to_le_bytes()),
        DType::I32 | DType::U32 => into.extend((bits as u32).to_le_bytes()),
        DType::I64 | DType::U64 => into.extend(bits.to_le_bytes()),
    }
}

/// Fills a tensor with elements that differ from place to place.
pub(crate) fn fill(tensor: &SharedTensor, whole: &Region, seed: u64) {
    write(tensor, whole, mix(seed), &mut Vec::new());
}

fn write(tensor: &SharedTensor, region: &Region, digest: u64, scratch: &mut Vec<u8>) {
    scratch.clear();
    let elements = tensor.region_bytes(region) / tensor.dtype().size();
    for index in 0..elements as u64 {
        element(tensor.dtype(), digest, index, scratch);
    }
    tensor.store(region, scratch);
}

/// Runs one task: reads every region that it may read, then writes every region that it may write.
pub(crate) fn run(
    tensors: &[SharedTensor],
    kernel: u16,
    scalars: &[i64],
    regions: &[(AccessMode, Region)],
    scratch: &mut Vec<u8>,
) -> Result<(), NeverStored> {
    let mut digest = mix(u64::from(kernel));
    for scalar in scalars {
        digest = absorb(digest, &scalar.to_le_bytes());
    }
    for (_, region) in regions.iter().filter(|(mode, _)| *mode != AccessMode::Out) {
        scratch.clear();
        tensors[region.tensor.index()].load(region, scratch)?;
        digest = absorb(digest, scratch);
    }
    for (number, (_, region)) in regions.iter().enumerate().filter(|(_, (mode, _))| *mode != AccessMode::In) {
        write(&tensors[region.tensor.index()], region, mix(digest ^ number as u64), scratch);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::TensorId;

    fn region(tensor: u32, lo: u32, hi: u32) -> Region {
        Region::new(TensorId(tensor), &[lo], &[hi]).expect("ranks agree")
    }

    fn tensors() -> Vec<SharedTensor> {
        let tensor = |dtype| SharedTensor::zeros("t", dtype, &[16]).expect("it is small");
        let all = vec![tensor(DType::F32), tensor(DType::U8)];
        fill(&all[0], &region(0, 0, 16), 1);
        fill(&all[1], &region(1, 0, 16), 2);
        all
    }

    fn bytes(tensors: Vec<SharedTensor>) -> Vec<Vec<u8>> {
        tensors
            .into_iter()
            .map(|t| t.into_array("t").expect("it is ours").expect("nobody else has it").bytes().to_vec())
            .collect()
    }

    #[test]
    fn two_tasks_that_conflict_give_other_bits_in_the_other_order() {
        let (one, two) = (
            [(AccessMode::In, region(0, 0, 8)), (AccessMode::Out, region(1, 4, 6))],
            [(AccessMode::In, region(1, 5, 9)), (AccessMode::InOut, region(0, 7, 8))],
        );
        let mut scratch = Vec::new();
        let mut run_both = |first: &[_], second: &[_]| {
            let all = tensors();
            for task in [first, second] {
                run(&all, 0, &[], task, &mut scratch).expect("nothing is recorded");
            }
            bytes(all)
        };
        assert_ne!(run_both(&one, &two), run_both(&two, &one));
        assert_eq!(run_both(&one, &two), run_both(&one, &two));
    }

    #[test]
    fn elements_outside_the_written_regions_keep_their_bits() {
        let before = bytes(tensors());
        let all = tensors();
        let regions = [(AccessMode::Out, region(0, 2, 3))];
        run(&all, 3, &[7], &regions, &mut Vec::new()).expect("nothing is recorded");
        let after = bytes(all);
        assert_eq!(after[1], before[1]);
        assert_eq!([&after[0][..8], &after[0][12..]], [&before[0][..8], &before[0][12..]]);
        assert_ne!(after[0][8..12], before[0][8..12]);
    }
}
