//! What a run is: which unit, kernels, values and inputs. A checkpoint continues the run that saved it, and no other.
//!
//! Threads, cores, hints, the bound of memory, tracing and signals of external events are no part of it: they change when something
//! runs, and no result. A function of the caller is known by its symbol and its signature; what it does is the caller's to keep.

use super::code::GraphCode;
use super::kernels::KernelBody;
use super::memory::TensorRange;
use super::options::SessionOptions;
use rustc_hash::FxHasher;
use std::fmt::{self, Write as _};
use std::hash::Hasher as _;
use std::sync::Arc;
use wsp_memory::{Reader, Writer};
use wsp_ordered::{Arrange, OrderedMap};
use wsp_tg::plan::{GraphPlan, UnitPlan};

/// What stands among the parameters of kernels for the instruction set of their tile operations: no parameter has such a name.
const TILE_OPERATIONS: &str = "tile operations";

/// What a run is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Identity {
    /// The statements, graphs and tensors of the unit.
    pub(crate) unit: u64,
    pub(crate) devices: u32,
    /// By entry symbol.
    pub(crate) kernels: Vec<KernelIdentity>,
    /// Values of declared scalars.
    pub(crate) scalars: Vec<(String, i64)>,
    /// Arrays that were given, by name.
    pub(crate) inputs: Vec<InputIdentity>,
}

/// What a kernel is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct KernelIdentity {
    pub(crate) entry: String,
    /// Of its code, in the form that the compiler reads: comments and layout of its file are no part of it.
    pub(crate) code: u64,
    /// Parameters of its file with their values, and what computes its tile operations.
    pub(crate) params: Vec<(String, String)>,
}

/// What an array is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct InputIdentity {
    pub(crate) name: String,
    /// Of its type, shape and elements.
    pub(crate) contents: u64,
    /// Where it comes from, for messages.
    pub(crate) origin: String,
}

/// Something that two runs do not have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    pub(crate) what: String,
    pub(crate) was: String,
    pub(crate) is: String,
}

/// Feeds text to a hash.
struct Text(FxHasher);

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// The hash of what is printed of something.
fn of_text(of: fmt::Arguments<'_>) -> u64 {
    let mut text = Text(FxHasher::default());
    // A hash takes everything.
    let _ = text.write_fmt(of);
    text.0.finish()
}

impl Identity {
    /// What a run of these graphs with these options is, whose arrays are claimed; its scalars are filled in when a record is made.
    pub(crate) fn new(plan: &UnitPlan, codes: &[Arc<GraphCode>], options: &SessionOptions) -> Identity {
        let input = |name: &String, what: String, bytes: &[u8]| {
            let mut hasher = FxHasher::default();
            hasher.write(what.as_bytes());
            hasher.write(bytes);
            let origin = options.origins.get(name).cloned();
            InputIdentity { name: name.clone(), contents: hasher.finish(), origin: origin.unwrap_or(what) }
        };
        let copied =
            options.inputs.iter().map(|(name, array)| input(name, format!("{array:?}"), array.bytes()));
        let in_place = options
            .views
            .iter()
            .map(|(name, view)| input(name, format!("{view:?}"), &TensorRange::of_view(view).to_vec()));
        let mut inputs: Vec<InputIdentity> = copied.chain(in_place).collect();
        inputs.arrange_by(|one, other| one.name.cmp(&other.name));
        Identity {
            unit: unit(plan, codes),
            devices: options.runtime.devices,
            kernels: kernels(codes),
            scalars: Vec::new(),
            inputs,
        }
    }

    /// What differs in the run of a record, first what explains most.
    pub(crate) fn differences(&self, saved: &Identity) -> Vec<Difference> {
        let mut all = Vec::new();
        let mut differ = |what: String, was: String, is: String| {
            if was != is {
                all.push(Difference { what, was, is });
            }
        };
        let text = |sum: u64| format!("{sum:016x}");
        differ("the statements of the unit".to_owned(), text(saved.unit), text(self.unit));
        differ("the number of devices".to_owned(), saved.devices.to_string(), self.devices.to_string());
        let values = |of: &Identity| -> OrderedMap<String, String> {
            of.scalars.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
        };
        each(&values(saved), &values(self), &mut |name, was, is| differ(format!("`{name}`"), was, is));
        let kernels = |of: &Identity| -> OrderedMap<String, String> {
            of.kernels.iter().map(|kernel| (kernel.entry.clone(), text(kernel.code))).collect()
        };
        let params = |of: &Identity| -> OrderedMap<String, String> {
            of.kernels.iter().flat_map(|kernel| kernel.params.iter().cloned()).collect()
        };
        each(&params(saved), &params(self), &mut |name, was, is| {
            let what = match name {
                TILE_OPERATIONS => "what computes tile operations".to_owned(),
                _ => format!("parameter `{name}` of the kernels"),
            };
            differ(what, was, is);
        });
        each(&kernels(saved), &kernels(self), &mut |name, was, is| {
            differ(format!("the code of kernel `{name}`"), was, is);
        });
        let inputs = |of: &Identity| -> OrderedMap<String, String> {
            let one = |of: &InputIdentity| (of.name.clone(), format!("{} ({:016x})", of.origin, of.contents));
            of.inputs.iter().map(one).collect()
        };
        let contents = |of: &Identity, name: &str| {
            of.inputs.iter().find(|input| input.name == name).map(|input| input.contents)
        };
        each(&inputs(saved), &inputs(self), &mut |name, was, is| {
            // The same elements are the same input, wherever they come from.
            if contents(saved, name) != contents(self, name) {
                differ(format!("the contents of `{name}`"), was, is);
            }
        });
        all
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.u64(self.unit);
        out.u32(self.devices);
        let pairs = |out: &mut Writer, (name, value): &(String, String)| {
            out.raw(name.as_bytes());
            out.raw(value.as_bytes());
        };
        out.list(&self.kernels, |out, kernel| {
            out.raw(kernel.entry.as_bytes());
            out.u64(kernel.code);
            out.list(&kernel.params, pairs);
        });
        out.list(&self.scalars, |out, (name, value)| {
            out.raw(name.as_bytes());
            out.u64(value.cast_unsigned());
        });
        out.list(&self.inputs, |out, input| {
            out.raw(input.name.as_bytes());
            out.u64(input.contents);
            out.raw(input.origin.as_bytes());
        });
    }

    pub(super) fn read(input: &mut Reader<'_>) -> Result<Identity, String> {
        Ok(Identity {
            unit: input.u64()?,
            devices: input.u32()?,
            kernels: input.list(24, |input| {
                Ok(KernelIdentity {
                    entry: input.text()?,
                    code: input.u64()?,
                    params: input.list(16, |input| Ok((input.text()?, input.text()?)))?,
                })
            })?,
            scalars: input.list(16, |input| Ok((input.text()?, input.u64()?.cast_signed())))?,
            inputs: input.list(24, |input| {
                Ok(InputIdentity { name: input.text()?, contents: input.u64()?, origin: input.text()? })
            })?,
        })
    }
}

/// Calls `f` with every name that one of both has, and its two values.
fn each(
    was: &OrderedMap<String, String>,
    is: &OrderedMap<String, String>,
    f: &mut dyn FnMut(&str, String, String),
) {
    let value = |of: &OrderedMap<String, String>, name: &String| {
        of.get(name).cloned().unwrap_or_else(|| "nothing".to_owned())
    };
    let names: wsp_ordered::OrderedSet<&String> = was.keys().chain(is.keys()).collect();
    names.into_iter().for_each(|name| f(name, value(was, name), value(is, name)));
}

/// A number that tells units apart: of all that a run does, with the names that messages need.
fn unit(plan: &UnitPlan, codes: &[Arc<GraphCode>]) -> u64 {
    let UnitPlan { graphs: _, host, host_loops, exprs, tensors, partitions, events, args } = plan;
    let host =
        of_text(format_args!("{host:?}{host_loops}{exprs:?}{tensors:?}{partitions:?}{events:?}{args:?}"));
    codes.iter().fold(host, |sum, code| sum.rotate_left(7) ^ graph(&code.plan))
}

fn graph(plan: &GraphPlan) -> u64 {
    let GraphPlan {
        no,
        name,
        records,
        edges: _,
        soft: _,
        defs,
        kernels,
        binds,
        tables,
        fixed,
        copies,
        frees,
        ..
    } = plan;
    let GraphPlan { notifies, notify_waits, event_waits, signals, checkpoints, conditions, loops, .. } = plan;
    let first = of_text(format_args!(
        "{no:?}{name}{defs:?}{kernels:?}{binds:?}{tables:?}{fixed:?}{copies:?}{frees:?}"
    ));
    let second =
        of_text(format_args!("{notifies:?}{notify_waits:?}{event_waits:?}{signals:?}{checkpoints:?}"));
    let third = of_text(format_args!("{conditions:?}{loops:?}{:?}{:?}", plan.affinities, plan.exprs));
    first ^ second.rotate_left(21) ^ third.rotate_left(42) ^ u64::from(records.fingerprint)
}

fn kernels(codes: &[Arc<GraphCode>]) -> Vec<KernelIdentity> {
    let mut known = OrderedMap::new();
    for code in codes {
        for (def, of) in code.plan.defs.iter().zip(&code.defs) {
            known.entry(def.entry.clone()).or_insert_with(|| match &of.body {
                KernelBody::Function(_) => (0, Vec::new()),
                KernelBody::Pto(entry) => {
                    let mut params = entry.params();
                    params.push((TILE_OPERATIONS.to_owned(), entry.mode().name().to_owned()));
                    (of_text(format_args!("{}", entry.text())), params)
                }
            });
        }
    }
    let kernel = |(entry, (code, params))| KernelIdentity { entry, code, params };
    known.into_iter().map(kernel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_with_both_values() {
        let saved = Identity {
            scalars: vec![("N".to_owned(), 3)],
            inputs: vec![InputIdentity {
                name: "X".to_owned(),
                contents: 1,
                origin: "made up from seed 1".to_owned(),
            }],
            ..Identity::default()
        };
        let mut other = saved.clone();
        other.inputs[0].origin = "read from x.npy".to_owned();
        assert_eq!(other.differences(&saved), [], "the same elements from elsewhere");
        other.inputs[0].contents = 2;
        other.scalars[0].1 = 4;
        let found = other.differences(&saved);
        assert_eq!((found[0].what.as_str(), found[0].was.as_str(), found[0].is.as_str()), ("`N`", "3", "4"));
        assert_eq!(found[1].what, "the contents of `X`");
        assert!(found[1].was.contains("seed 1") && found[1].is.contains("x.npy"), "{found:?}");
    }
}
