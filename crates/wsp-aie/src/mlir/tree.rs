//! The tree: types, attributes, operations.

use wsp_diag::Span;

/// Most levels of regions, types or attributes inside each other.
pub const MAX_DEPTH: u32 = 64;

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// `i32`: an integer without sign, of so many bits, from 1 to 64.
    Int(u32),
    /// `ui32`: what some attributes are numbers of.
    Unsigned(u32),
    /// `index`
    Index,
    /// `f32`
    F32,
    /// `bf16`
    Bf16,
    /// `f64`
    F64,
    /// `f16`
    F16,
    /// `memref<4x8xf32>`
    MemRef(Shaped),
    /// `vector<16xf32>`
    Vector(Shaped),
    /// `tensor<4xi32>`: the type of the values of a constant.
    Tensor(Shaped),
    /// `(i32) -> f32`
    Function(Vec<Type>, Vec<Type>),
    /// `!aie.objectfifo<memref<16xi32>>`
    Fifo(Box<Type>),
    /// `!aie.objectfifosubview<memref<16xi32>>`
    Subview(Box<Type>),
}

/// Extents, and the type of the elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shaped {
    /// Extents, the outermost first; none where only a run tells.
    pub shape: Vec<Option<u64>>,
    /// The type of an element.
    pub element: Box<Type>,
    /// What stands behind the element's type (a layout, a memory space), as it is written; empty without.
    pub rest: String,
}

/// An attribute.
#[derive(Clone, PartialEq, Debug)]
pub enum Attr {
    /// It is there, and has no value.
    Unit,
    /// `true`
    Bool(bool),
    /// `4 : i32`
    Int(i64, Type),
    /// `1.0 : f32`
    Float(f64, Type),
    /// `"text"`, as it stands between the quotes.
    Str(String),
    /// `@name`
    Symbol(String),
    /// A type.
    Type(Type),
    /// `[…]`
    Array(Vec<Attr>),
    /// `{…}`
    Dict(Vec<(String, Attr)>),
    /// `array<i64: 1, 2>`; the type is that of the elements.
    Dense(Type, Vec<i64>),
    /// `dense<…> : tensor<2xi32>`
    Elements(Box<Attr>, Type),
    /// Sizes and strides of a transfer, `#aie<bd_dim_layout_array[<size = 4, stride = 1>]>`.
    Dims(Vec<Dim>),
    /// [`Attr::Dims`] for each consumer of a fifo.
    DimsPer(Vec<Vec<Dim>>),
    /// Any other attribute of a dialect, `#…`, as it is written.
    Raw(String),
}

/// One dimension of a transfer, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dim {
    /// How often.
    pub size: u64,
    /// How far apart, in elements.
    pub stride: u64,
}

/// A value of a [`Module`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value(pub u32);

/// What a module knows of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueInfo {
    /// Its name, without `%`.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// An operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Op {
    /// Its name with the dialect, `aie.tile`.
    pub name: String,
    /// What it makes.
    pub results: Vec<Value>,
    /// What it is given.
    pub operands: Vec<Value>,
    /// Its properties and attributes, in the order of their names.
    pub attrs: Vec<(String, Attr)>,
    /// Its regions.
    pub regions: Vec<Region>,
    /// Blocks of its region that it goes on to, by their places in the region.
    pub successors: Vec<u32>,
    /// Where it stands; empty where it was made.
    pub span: Span,
}

/// Blocks; control begins in the first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Region {
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// Operations in a line. In text blocks have names, which are not kept: it is the block's place that operations know.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    /// What it is given.
    pub args: Vec<Value>,
    /// The operations.
    pub ops: Vec<Op>,
}

/// A file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    /// Its operations: devices, and functions beside them.
    pub ops: Vec<Op>,
    /// All values, by number.
    pub values: Vec<ValueInfo>,
}

impl Module {
    /// A new value. Names of values that see each other must differ.
    pub fn value(&mut self, name: impl Into<String>, ty: Type) -> Value {
        self.values.push(ValueInfo { name: name.into(), ty });
        Value(self.values.len() as u32 - 1)
    }

    /// The type of a value.
    ///
    /// # Panics
    /// The value is one of another module.
    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value.0 as usize].ty
    }

    /// The name of a value, without `%`.
    ///
    /// # Panics
    /// The value is one of another module.
    pub fn name(&self, value: Value) -> &str {
        &self.values[value.0 as usize].name
    }
}

impl Op {
    /// An operation without operands, results and attributes.
    pub fn new(name: impl Into<String>) -> Op {
        Op {
            name: name.into(),
            results: Vec::new(),
            operands: Vec::new(),
            attrs: Vec::new(),
            regions: Vec::new(),
            successors: Vec::new(),
            span: Span::default(),
        }
    }

    /// With operands.
    #[must_use]
    pub fn with(mut self, operands: impl IntoIterator<Item = Value>) -> Op {
        self.operands.extend(operands);
        self
    }

    /// With an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: Attr) -> Op {
        self.set(name, value);
        self
    }

    /// With an attribute of type `i32`.
    #[must_use]
    pub fn int(self, name: &str, value: i64) -> Op {
        self.attr(name, Attr::Int(value, Type::Int(32)))
    }

    /// With a region of one block.
    #[must_use]
    pub fn region(mut self, args: Vec<Value>, ops: Vec<Op>) -> Op {
        self.regions.push(Region { blocks: vec![Block { args, ops }] });
        self
    }

    /// With a result.
    #[must_use]
    pub fn result(mut self, value: Value) -> Op {
        self.results.push(value);
        self
    }

    /// Gives an attribute a value.
    pub fn set(&mut self, name: &str, value: Attr) {
        match self.attrs.binary_search_by(|(have, _)| have.as_str().cmp(name)) {
            Ok(at) => self.attrs[at].1 = value,
            Err(at) => self.attrs.insert(at, (name.to_owned(), value)),
        }
    }

    /// An attribute.
    pub fn find(&self, name: &str) -> Option<&Attr> {
        self.attrs.iter().find(|(have, _)| have == name).map(|(_, value)| value)
    }

    /// An integer attribute.
    pub fn find_int(&self, name: &str) -> Option<i64> {
        match self.find(name)? {
            Attr::Int(value, _) => Some(*value),
            _ => None,
        }
    }

    /// The name that a symbol or a string has.
    pub fn find_name(&self, name: &str) -> Option<&str> {
        match self.find(name)? {
            Attr::Symbol(text) | Attr::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Whether an attribute says so by being there.
    pub fn is(&self, name: &str) -> bool {
        matches!(self.find(name), Some(Attr::Unit | Attr::Bool(true)))
    }

    /// The operations of its only block, where it has one.
    pub fn body(&self) -> &[Op] {
        self.regions.first().and_then(|region| region.blocks.first()).map_or(&[], |block| &block.ops)
    }

    /// The operation and all in it, outer ones first.
    pub fn walk<'a>(&'a self, see: &mut dyn FnMut(&'a Op)) {
        see(self);
        for op in self.regions.iter().flat_map(|region| &region.blocks).flat_map(|block| &block.ops) {
            op.walk(see);
        }
    }
}

impl Type {
    /// Bytes of one element: of a scalar, or of what a shape has; none where it is no whole number of bytes.
    pub fn element_bytes(&self) -> Option<u64> {
        match self {
            Type::Int(bits) | Type::Unsigned(bits) => (bits % 8 == 0).then_some(u64::from(*bits) / 8),
            Type::Index | Type::F64 => Some(8),
            Type::F32 => Some(4),
            Type::Bf16 | Type::F16 => Some(2),
            Type::MemRef(shaped) | Type::Vector(shaped) | Type::Tensor(shaped) => {
                shaped.element.element_bytes()
            }
            Type::Fifo(inner) | Type::Subview(inner) => inner.element_bytes(),
            Type::Function(..) => None,
        }
    }

    /// The shape of a memory reference, a vector or a tensor.
    pub fn shaped(&self) -> Option<&Shaped> {
        match self {
            Type::MemRef(shaped) | Type::Vector(shaped) | Type::Tensor(shaped) => Some(shaped),
            Type::Fifo(inner) | Type::Subview(inner) => inner.shaped(),
            _ => None,
        }
    }

    /// How many elements; 1 of a scalar, none where only a run tells or the number exceeds 2³².
    pub fn elements(&self) -> Option<u64> {
        let Some(shaped) = self.shaped() else { return Some(1) };
        let product = shaped.shape.iter().try_fold(1u64, |product, extent| product.checked_mul((*extent)?));
        product.filter(|product| *product <= 1 << 32)
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> Option<u64> {
        self.elements()?.checked_mul(self.element_bytes()?)
    }

    /// Whether it is a floating-point type.
    pub fn is_float(&self) -> bool {
        matches!(self, Type::F32 | Type::Bf16 | Type::F64 | Type::F16)
    }

    /// The type of the elements of a shape, or the scalar itself.
    pub fn scalar(&self) -> &Type {
        self.shaped().map_or(self, |shaped| &shaped.element)
    }

    /// `memref<…>` of static extents.
    pub fn memref(shape: &[u64], element: Type) -> Type {
        Type::MemRef(Shaped::of(shape, element))
    }
}

impl Shaped {
    /// Static extents.
    pub fn of(shape: &[u64], element: Type) -> Shaped {
        Shaped {
            shape: shape.iter().map(|extent| Some(*extent)).collect(),
            element: Box::new(element),
            rest: String::new(),
        }
    }
}
