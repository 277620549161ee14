//! What kernels do with their arguments, as far as whoever brings them says so.

use wsp_core::DType;
use wsp_core::tg::Direction;
use wsp_ordered::OrderedMap;

/// One argument of a kernel, or one tensor that its file names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgSignature {
    /// Its name in the kernel.
    pub name: String,
    /// What the kernel does with it; [`Direction::Auto`] if that is not known, which counts as reading and writing.
    pub direction: Direction,
    /// Type of its elements, if the kernel has one.
    pub dtype: Option<DType>,
    /// Its shape in elements, outermost dimension first; `None` is an extent that follows from the bytes bound. Empty if the
    /// kernel takes any number of bytes.
    pub shape: Vec<Option<u64>>,
}

impl ArgSignature {
    /// An argument of any type and size.
    pub fn new(name: impl Into<String>, direction: Direction) -> ArgSignature {
        ArgSignature { name: name.into(), direction, dtype: None, shape: Vec::new() }
    }

    /// Fewest bytes that hold it: all extents that are known, and 1 for those that are not. `None` if its type is not known
    /// or the bytes cannot be counted.
    pub fn least_bytes(&self) -> Option<u64> {
        let size = self.dtype?.size() as u64;
        self.shape.iter().try_fold(size, |bytes, extent| bytes.checked_mul(extent.unwrap_or(1)))
    }
}

/// What is known of a kernel before it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSignature {
    /// Its entry symbol.
    pub name: String,
    /// Its arguments in the order of their indices.
    pub args: Vec<ArgSignature>,
    /// Tensors that its file names and that are no arguments: whoever runs it gives them by name.
    pub resident: Vec<ArgSignature>,
    /// Least bytes of workspace.
    pub workspace: u64,
}

impl KernelSignature {
    /// A kernel with these arguments, without workspace or resident tensors.
    pub fn new(name: impl Into<String>, args: Vec<ArgSignature>) -> KernelSignature {
        KernelSignature { name: name.into(), args, resident: Vec::new(), workspace: 0 }
    }
}

/// Signatures by entry symbol.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Signatures {
    known: OrderedMap<String, KernelSignature>,
}

impl Signatures {
    /// None.
    pub fn new() -> Signatures {
        Signatures::default()
    }

    /// Adds a signature; gives back the one that stood under its name.
    pub fn insert(&mut self, signature: KernelSignature) -> Option<KernelSignature> {
        self.known.insert(signature.name.clone(), signature)
    }

    /// The signature of an entry.
    pub fn get(&self, entry: &str) -> Option<&KernelSignature> {
        self.known.get(entry)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &KernelSignature> {
        self.known.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

impl FromIterator<KernelSignature> for Signatures {
    fn from_iter<I: IntoIterator<Item = KernelSignature>>(signatures: I) -> Signatures {
        let mut all = Signatures::new();
        for signature in signatures {
            all.insert(signature);
        }
        all
    }
}
