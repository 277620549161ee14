//! The folder that a problem is handed to the peers in.

use pto_wsp::npy::no_array;
use pto_wsp::shared::work_folder::WorkFolder;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use wsp_backend::KvLayout;
use wsp_cli::files::{write_array, write_bytes};
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_plan::{Array, ArrayError};

/// What peers compute: decode attention over a paged cache.
pub(crate) struct Problem<'a> {
    /// Queries `[batch, q_heads, 1, dim]`.
    pub(crate) q: &'a Array,
    /// Pages of keys, in `layout`.
    pub(crate) k: &'a Array,
    /// Pages of values, in `layout`.
    pub(crate) v: &'a Array,
    /// Request `b` holds pages `indices[indptr[b]..indptr[b + 1]]`.
    pub(crate) indptr: &'a Array,
    /// Page ids.
    pub(crate) indices: &'a Array,
    /// Tokens of each request.
    pub(crate) lengths: Vec<u32>,
    /// What products of queries and keys are multiplied by.
    pub(crate) scale: f64,
    /// Order of heads and tokens in a page.
    pub(crate) layout: KvLayout,
    /// Heads of keys and values.
    pub(crate) kv_heads: u32,
    /// What f64 makes of it: outputs `[batch, q_heads, dim]`.
    pub(crate) expected: &'a [f64],
}

/// A folder for files that are not needed afterwards; it goes when this is dropped, or a signal ends the program.
#[derive(Debug)]
pub(crate) struct Workspace {
    folder: WorkFolder,
}

/// Workspaces that this process made.
static MADE: AtomicU32 = AtomicU32::new(0);

impl Workspace {
    /// A folder of its own among the temporary files, which only this user may read.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn new() -> Result<Workspace, String> {
        // Relaxed: the counter only makes names differ.
        let number = || MADE.fetch_add(1, Ordering::Relaxed);
        let within = std::env::temp_dir();
        let made =
            WorkFolder::new(&mut || within.join(format!("wsp-bench-{}-{}", std::process::id(), number())));
        let closed = made.and_then(|folder| {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).map(|()| folder)
        });
        let folder =
            closed.map_err(|fault| format!("a folder in `{}` cannot be made: {fault}", within.display()))?;
        Ok(Workspace { folder })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a problem: an array per file, and the sizes.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn write(&self, problem: &Problem<'_>) -> Result<(), Diagnostic> {
        let lengths = filled(DType::U32, &problem.lengths).map_err(|fault| no_array("the results", fault))?;
        let expected =
            filled(DType::F64, problem.expected).map_err(|fault| no_array("the results", fault))?;
        let arrays = [
            ("q", problem.q),
            ("k", problem.k),
            ("v", problem.v),
            ("indptr", problem.indptr),
            ("indices", problem.indices),
            ("lengths", &lengths),
            ("expected", &expected),
        ];
        for (name, array) in arrays {
            write_array(&self.path().join(format!("{name}.npy")), array)?;
        }
        let sizes = json!({
            "dtype": problem.q.dtype().name(),
            "layout": problem.layout.name(),
            "kv_heads": problem.kv_heads,
            "scale": problem.scale,
        });
        write_bytes(&self.path().join("problem.json"), format!("{sizes:#}\n").as_bytes())
    }
}

fn filled<T>(dtype: DType, values: &[T]) -> Result<Array, ArrayError>
where
    T: Copy + zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable + zerocopy::KnownLayout,
{
    let mut array = Array::zeros(dtype, &[values.len() as u64])?;
    array.as_slice_mut::<T>().expect("elements should be of the array's type").copy_from_slice(values);
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_cli::files::read_npy;

    #[test]
    fn a_problem_is_a_folder_of_arrays_that_goes_afterwards() {
        let numbers = filled(DType::U32, &[0u32, 1]).unwrap();
        let pages = Array::zeros(DType::Bf16, &[1, 16, 1, 4]).unwrap();
        let q = Array::zeros(DType::Bf16, &[1, 2, 1, 4]).unwrap();
        let problem = Problem {
            q: &q,
            k: &pages,
            v: &pages,
            indptr: &numbers,
            indices: &numbers,
            lengths: vec![9],
            scale: 0.5,
            layout: KvLayout::Hnd,
            kv_heads: 1,
            expected: &[0.25; 8],
        };
        let workspace = Workspace::new().unwrap();
        workspace.write(&problem).unwrap();
        let folder = workspace.path().to_owned();
        let expected = read_npy(&folder.join("expected.npy")).unwrap();
        assert_eq!(expected.as_slice::<f64>().unwrap(), [0.25; 8]);
        assert_eq!(read_npy(&folder.join("k.npy")).unwrap().dtype(), DType::U16);
        let sizes: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.join("problem.json")).unwrap()).unwrap();
        assert_eq!((sizes["dtype"].as_str(), sizes["layout"].as_str()), (Some("bf16"), Some("HND")));
        drop(workspace);
        assert!(!folder.exists());
    }
}
