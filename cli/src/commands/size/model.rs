//! The cost model: from the parameters of an estimate to core-seconds and bytes.
//!
//! All costs are products of these parameters and a few [`Rates`], which are either built in
//! (`rates.rs`) or measured (`measure.rs`).

use anyhow::Result;
use hashbrook::{Method, VectorFormat};
use serde::Serialize;

use super::growth::Growth;
use crate::commands::parameters_of;

/// Maximum number of items of one index with a search structure.
pub const MOST_IN_INDEX: u64 = i32::MAX as u64;

/// Bytes of a hit sent over a network: the numbers of a query and an item, and a distance.
const HIT_BYTES: f64 = 8.0 + 8.0 + 4.0;

const ID_BYTES: f64 = 8.0;

/// Minimum number of queries for which the library builds a search structure if codes have none.
const QUERIES_FOR_STRUCTURE: u64 = 1 << 11;

/// Parameters of an estimate.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    pub items: u64,
    pub dim: usize,
    pub bits: usize,
    pub method: String,
    pub function: Function,
    pub queries: u64,
    pub k: u64,
    pub radius: u32,
    pub cores: u64,
    /// Number of indexes that the items are distributed over.
    pub parts: u64,
    /// Format of the vectors stored in the index, if any.
    pub vectors: Option<VectorFormat>,
    /// Share of the items whose code no earlier item has.
    pub distinct: f64,
}

/// Shape of a hash function, as far as it affects encoding time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "lift", rename_all = "snake_case")]
pub enum Function {
    /// Projection of the vectors themselves.
    None,
    /// Projection of integer similarities to anchors, which are computed in `depth` dimensions.
    Compact { anchors: usize, depth: usize },
    /// Projection of similarities to anchors.
    Full { anchors: usize },
}

/// Minimum number of values in all anchors for which `precision=auto` is compact
/// (`src/learners/brook/embedding.rs`).
const MANY_NUMBERS: usize = 1 << 17;

/// Dimension to which vectors are reduced if they have at least twice as many dimensions.
/// `src/learners/subspace.rs` requires that the reduction keeps 93 % of their squared length, which
/// mostly holds.
const REDUCED: usize = 128;

impl Function {
    /// Returns the function of a method, for vectors of a dimension.
    pub fn of(method: &Method, dim: usize) -> Function {
        let parameters = parameters_of(method);
        let named = |name: &str| parameters.get(name).and_then(|value| value.as_str());
        let anchors = match parameters.get("anchors") {
            None => 0,
            // Default number of anchors, which applies to few classes.
            Some(anchors) => anchors.as_u64().map_or(method.warmup(), |anchors| anchors as usize),
        };
        let compact = match named("precision") {
            Some("compact") => true,
            Some("auto") => anchors.saturating_mul(dim) >= MANY_NUMBERS,
            _ => false,
        };
        match (anchors, named("lift")) {
            (0, _) | (_, Some("none")) => Function::None,
            _ if compact => {
                Function::Compact { anchors, depth: if dim >= 2 * REDUCED { REDUCED } else { dim } }
            }
            _ => Function::Full { anchors },
        }
    }
}

/// Seconds that one core needs for each operation, for the parameters of one estimate.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rates {
    /// Encoding a vector.
    pub encode: f64,
    /// Comparing a code with one of many simultaneous queries.
    pub compare: f64,
    /// Answering a query by the search structure of one index.
    pub query: Growth,
    /// Inserting an item into an index with a search structure.
    pub build: Growth,
    /// Finding the group of near-duplicates of an item.
    pub group: Growth,
}

impl Rates {
    /// Returns the core-seconds to encode `items` vectors.
    pub fn encode(&self, items: f64) -> f64 {
        items * self.encode
    }

    /// Returns the core-seconds to build one index.
    pub fn build(&self, items: f64) -> f64 {
        items * self.build.at(items)
    }

    /// Returns the core-seconds to answer queries from one index, by its search structure or by a
    /// scan, whichever is faster.
    pub fn search(&self, items: f64, queries: f64) -> f64 {
        (queries * self.query.at(items)).min(self.scan(items, queries))
    }

    /// Returns the core-seconds to compare queries with all codes.
    pub fn scan(&self, items: f64, queries: f64) -> f64 {
        items * queries * self.compare
    }

    /// Returns the core-seconds to find the groups of near-duplicates of one index.
    pub fn dedup(&self, items: f64) -> f64 {
        items * self.group.at(items)
    }

    /// Returns the core-seconds to search codes once: by a scan, or by a search structure that is
    /// built for the queries if there are enough of them.
    pub fn search_once(&self, items: f64, queries: u64) -> f64 {
        let asked = queries as f64;
        match queries < QUERIES_FOR_STRUCTURE {
            true => self.scan(items, asked),
            false => self.build(items) + self.search(items, asked),
        }
    }
}

/// Cost of one step.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub name: &'static str,
    pub core_seconds: f64,
    /// Seconds on the requested number of cores.
    pub seconds: f64,
    /// Bytes read from storage.
    pub read: f64,
    /// Bytes written to storage.
    pub written: f64,
    /// Bytes moved between the workers of a cluster, if the parts are distributed over workers.
    pub moved: f64,
}

/// Bytes of all indexes together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Memory {
    pub codes: f64,
    pub ids: f64,
    pub structure: f64,
    pub vectors: f64,
    /// Bytes for finding groups of near-duplicates, in addition to codes and ids.
    pub dedup: f64,
}

impl Memory {
    pub fn index(&self) -> f64 {
        self.codes + self.ids + self.structure + self.vectors
    }
}

/// Estimated cost of all steps.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    pub steps: Vec<Step>,
    pub memory: Memory,
}

/// Returns the bytes of a code in an index.
fn code_bytes(bits: usize) -> f64 {
    // A 64-bit word stores two short codes.
    if bits <= 32 { 4.0 } else { 8.0 * bits.div_ceil(64) as f64 }
}

/// Returns the bytes of a code in files that contain only codes.
fn packed_bytes(bits: usize) -> f64 {
    bits.div_ceil(8) as f64
}

/// Returns the bytes of search structures, per distinct code and per item.
fn structure_bytes(bits: usize) -> (f64, f64) {
    // Number of tables as in `src/index/tables/build.rs`. Each table stores every distinct code,
    // and the offset of its items.
    let tables = match bits {
        0..=16 => 1.0,
        17..=32 => 2.0,
        33..=48 => 3.0,
        49..=64 => 4.0,
        65..=128 => 6.0,
        _ => 0.0,
    };
    let code = code_bytes(bits);
    // Buckets store the code once more, with some free slots. They also store four codes that
    // describe each bucket, and the offsets of its items.
    (tables * (code + 4.0) + BUCKET_SHARE * code + BUCKET_BYTES, 4.0)
}

/// Bytes of a code in buckets: a multiple of its own bytes, plus a constant. Estimated and actual
/// bytes of indexes of 32 to 512 bits are compared by `hashbrook size --check 1M --json`.
const BUCKET_SHARE: f64 = 1.15;
const BUCKET_BYTES: f64 = 7.0;

/// Returns the bytes of a vector stored in an index.
fn vector_bytes(format: Option<VectorFormat>, dim: usize) -> f64 {
    match format {
        None => 0.0,
        Some(VectorFormat::F16) => 2.0 * dim as f64,
        // Four more bytes for the scale factor.
        Some(_) => dim as f64 + 4.0,
    }
}

/// Bytes per item for finding near-duplicates, beyond its code and id.
/// `cargo bench --bench server -- memory` measured 218 MB for 10,000,000 mapped codes of 64 bits,
/// which are copied once.
const DEDUP_BYTES: f64 = 14.0;

impl Asked {
    /// Returns the memory of the indexes of all items.
    pub fn memory(&self) -> Memory {
        let items = self.items as f64;
        let (of_code, of_item) = structure_bytes(self.bits);
        Memory {
            codes: items * code_bytes(self.bits),
            ids: items * ID_BYTES,
            structure: items * (self.distinct * of_code + of_item),
            vectors: items * vector_bytes(self.vectors, self.dim),
            dedup: items * (code_bytes(self.bits) + DEDUP_BYTES),
        }
    }

    /// Estimates the cost of all steps at these rates.
    pub fn estimate(&self, rates: &Rates) -> Estimate {
        let memory = self.memory();
        let (items, queries, parts) = (self.items as f64, self.queries as f64, self.parts as f64);
        let in_part = items / parts;
        let packed = items * packed_bytes(self.bits);
        let given = items * 4.0 * self.dim as f64;
        // A single part is on one machine, so no data is moved.
        let moved = |bytes: f64| if self.parts > 1 { bytes } else { 0.0 };
        let hits = moved(
            parts * queries * (self.k.min(self.items) as f64 * HIT_BYTES + packed_bytes(self.bits)),
        );
        let results = queries * self.k.min(self.items) as f64 * HIT_BYTES;
        let (encode, build) = (rates.encode(items), parts * rates.build(in_part));
        // Codes that share a piece are grouped in the same part. The number of pieces per code is
        // one more than the number of bits that may differ.
        let copies = items * self.distinct * f64::from(self.radius + 1);
        let dedup = match self.parts {
            1 => rates.dedup(items),
            _ => parts * rates.dedup(copies / parts),
        };
        let kept = if self.vectors.is_some() { memory.vectors } else { given };
        let cores = self.cores as f64;
        // Building one index uses little more than one core.
        let built_on = cores.min(parts);
        let step = |name, core_seconds, read, written, moved| {
            let seconds = core_seconds / cores;
            Step { name, core_seconds, seconds, read, written, moved }
        };
        let steps = vec![
            step("encode", encode, given, packed, 0.0),
            Step { seconds: build / built_on, ..step("build", build, packed, memory.index(), 0.0) },
            step(
                "search",
                parts * rates.search(in_part, queries),
                memory.ids + memory.codes + memory.structure,
                results,
                hits,
            ),
            step("search by scan", rates.scan(items, queries), memory.codes, results, hits),
            step(
                "dedup",
                dedup,
                memory.codes + memory.ids,
                2.0 * ID_BYTES * items,
                moved(copies * (packed_bytes(self.bits) + ID_BYTES)),
            ),
            Step {
                seconds: encode / cores + build / built_on,
                ..step("renew", encode + build, kept + memory.ids, memory.index(), 0.0)
            },
        ];
        Estimate { steps, memory }
    }
}

/// Returns a method by its name, with these parameters.
///
/// # Errors
/// Fails if there is no such method, or it has no such parameter.
pub fn method(name: &str, anchors: Option<u64>, lift: Option<&str>) -> Result<Method> {
    let mut method = Method::named(name)?;
    if let Some(anchors) = anchors {
        method.set("anchors", &anchors.to_string())?;
    }
    if let Some(lift) = lift {
        method.set("lift", lift)?;
    }
    Ok(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(items: u64, parts: u64) -> Asked {
        Asked {
            items,
            dim: 100,
            bits: 64,
            method: "brook".to_owned(),
            function: Function::None,
            queries: 1_000,
            k: 10,
            radius: 3,
            cores: 4,
            parts,
            vectors: None,
            distinct: 0.5,
        }
    }

    const RATES: Rates = Rates {
        encode: 1e-6,
        compare: 1e-9,
        query: Growth::new([(1e6, 1e-4), (4e6, 2e-4), (16e6, 4e-4), (64e6, 8e-4)], 0.5),
        build: Growth::new([(1e6, 2e-6), (4e6, 2e-6), (16e6, 2e-6), (64e6, 2e-6)], 0.0),
        group: Growth::new([(1e6, 3e-6), (4e6, 3e-6), (16e6, 3e-6), (64e6, 3e-6)], 0.0),
    };

    #[test]
    fn an_estimate_is_what_one_adds_up_by_hand() {
        let close = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found}, expected {expected}");
        };
        let Estimate { steps, memory } = asked(16_000_000, 4).estimate(&RATES);
        let step = |name: &str| steps.iter().find(|step| step.name == name).unwrap();
        close(step("encode").core_seconds, 16.0);
        close(step("encode").read, 16e6 * 400.0);
        close(step("encode").written, 16e6 * 8.0);
        close(step("build").core_seconds, 32.0);
        close(step("encode").seconds, 4.0);
        close(step("build").seconds, 8.0);
        let few = asked(16_000_000, 2).estimate(&RATES);
        let renew = few.steps.last().unwrap();
        assert_eq!(renew.name, "renew");
        // Four cores encode, but two indexes are built on only two.
        close(renew.seconds, 4.0 + 16.0);
        // Each of 4 indexes has 4 million items: a query takes twice as long as with 1 million.
        close(step("search").core_seconds, 4.0 * 1_000.0 * 2e-4);
        close(step("search").moved, 4.0 * 1_000.0 * (10.0 * 20.0 + 8.0));
        close(step("search by scan").core_seconds, 16.0);
        // Half of the codes are distinct, and each has four pieces.
        close(step("dedup").core_seconds, 32e6 * 3e-6);
        close(step("dedup").moved, 32e6 * 16.0);
        close(step("renew").core_seconds, 48.0);
        close(memory.codes, 128e6);
        close(memory.ids, 128e6);
        assert_eq!(memory.vectors, 0.0);
        let kept = Asked { vectors: Some(VectorFormat::I8), ..asked(10, 1) }.estimate(&RATES);
        close(kept.memory.vectors, 1_040.0);
        assert!(kept.steps.iter().all(|step| step.moved == 0.0), "one index is one machine");
    }

    #[test]
    fn a_structure_is_given_up_for_a_scan() {
        let slow = Rates { query: Growth::power(1.0, 0.0), ..RATES };
        assert_eq!(slow.search(1e6, 5.0), slow.scan(1e6, 5.0));
        assert_eq!(RATES.search_once(1e6, 2_047), RATES.scan(1e6, 2_047.0));
        assert_eq!(RATES.search_once(1e6, 2_048), RATES.build(1e6) + RATES.search(1e6, 2_048.0));
    }

    #[test]
    fn functions_are_those_of_the_methods() {
        let of = |name: &str, dim| Function::of(&Method::named(name).unwrap(), dim);
        assert_eq!(of("brook", 128), Function::Compact { anchors: 3000, depth: 128 });
        assert_eq!(of("brook", 784), Function::Compact { anchors: 3000, depth: 128 });
        assert_eq!(of("brook", 40), Function::Full { anchors: 3000 });
        assert_eq!(of("okh", 128), Function::Full { anchors: 300 });
        assert_eq!(of("hmoh", 128), Function::Full { anchors: 300 });
        for name in ["bsodh", "lsh", "itq", "mihash", "hcoh", "osh", "sketchhash", "frosh"] {
            assert_eq!(of(name, 128), Function::None, "{name}");
        }
        let linear = method("brook", None, Some("none")).unwrap();
        assert_eq!(Function::of(&linear, 128), Function::None);
        assert!(method("lsh", Some(3), None).is_err() && method("nonsense", None, None).is_err());
    }
}
