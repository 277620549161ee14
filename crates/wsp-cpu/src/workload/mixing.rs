//! The body of kernels that have none: mixes what a task reads into what it writes.
//!
//! Every element written depends on every element read, on the kernel and on the task's scalars. Two tasks that conflict
//! give other bits in the other order, so equal bits show that every dependence was kept.

use super::memory::{NeverStored, SharedTensor};
use super::records::Arguments;
use wsp_core::Region;
use wsp_ir::workload::AccessMode;
use wsp_kernel::made_up::{absorb, elements, mix};

/// Fills a tensor with elements that differ from place to place.
pub(crate) fn fill(tensor: &SharedTensor, whole: &Region, seed: u64) {
    write(tensor, whole, mix(seed), &mut Vec::new());
}

fn write(tensor: &SharedTensor, region: &Region, digest: u64, scratch: &mut Vec<u8>) {
    scratch.clear();
    let count = tensor.region_bytes(region) / tensor.dtype().size();
    elements(tensor.dtype(), digest, count, scratch);
    tensor.store(region, scratch);
}

/// Runs one task: reads every region that it may read, then writes every region that it may write. `modes` are those of its regions.
pub(crate) fn run(
    tensors: &[SharedTensor],
    task: Arguments<'_>,
    modes: &[AccessMode],
    scratch: &mut Vec<u8>,
) -> Result<(), NeverStored> {
    let regions = || modes.iter().zip(task.regions);
    let mut digest = mix(u64::from(task.kernel.0));
    for scalar in task.scalars {
        digest = absorb(digest, &scalar.to_le_bytes());
    }
    for (_, region) in regions().filter(|(mode, _)| **mode != AccessMode::Out) {
        scratch.clear();
        tensors[region.tensor.index()].load(region, scratch)?;
        digest = absorb(digest, scratch);
    }
    for (number, (_, region)) in regions().enumerate().filter(|(_, (mode, _))| **mode != AccessMode::In) {
        write(&tensors[region.tensor.index()], region, mix(digest ^ number as u64), scratch);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::{DType, KernelId, TensorId};

    fn region(tensor: u32, lo: u32, hi: u32) -> Region {
        Region::new(TensorId(tensor), &[lo], &[hi]).expect("ranks agree")
    }

    fn task<'a>(scalars: &'a [i64], regions: &'a [Region]) -> Arguments<'a> {
        Arguments { kernel: KernelId(3), scalars, regions, indices: &[] }
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
        let one = ([AccessMode::In, AccessMode::Out], [region(0, 0, 8), region(1, 4, 6)]);
        let two = ([AccessMode::In, AccessMode::InOut], [region(1, 5, 9), region(0, 7, 8)]);
        let mut scratch = Vec::new();
        let mut run_both = |tasks: [&([AccessMode; 2], [Region; 2]); 2]| {
            let all = tensors();
            for (modes, regions) in tasks {
                run(&all, task(&[], regions), modes, &mut scratch).expect("nothing is recorded");
            }
            bytes(all)
        };
        assert_ne!(run_both([&one, &two]), run_both([&two, &one]));
        assert_eq!(run_both([&one, &two]), run_both([&one, &two]));
    }

    #[test]
    fn elements_outside_the_written_regions_keep_their_bits() {
        let before = bytes(tensors());
        let all = tensors();
        let regions = [region(0, 2, 3)];
        run(&all, task(&[7], &regions), &[AccessMode::Out], &mut Vec::new()).expect("nothing is recorded");
        let after = bytes(all);
        assert_eq!(after[1], before[1]);
        assert_eq!([&after[0][..8], &after[0][12..]], [&before[0][..8], &before[0][12..]]);
        assert_ne!(after[0][8..12], before[0][8..12]);
    }
}
