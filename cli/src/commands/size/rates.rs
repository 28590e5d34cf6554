//! The rates that are built in: what one core of an AMD EPYC virtual machine with AVX-512 does, beside other work.
//!
//! All of them are processor time of a release build. Those of encoding and comparing were fitted to what
//! `hashbrook size --items 1M --measure` found with `--dim` 64, 128 and 784, `--bits` 16 to 512, and functions of all
//! kinds; how searching, building and grouping grow, to `hashbrook size --check 500k,2M`, `1M,4M` and `16M`, with `--bits` 32 to 256 and
//! `--radius` 0 to 6. The codes are those of `codes.rs`.
//!
//! Not measured, but put between or beyond points that were: at 2 million items, queries of 32 bits and groups within 3 bits; at 16
//! million, all but 64 bits, and groups within more than 0 bits; `k` other than 10 at more than 500,000; whatever is
//! beyond 16 million.

use super::growth::Growth;
use super::model::{Asked, Function, Rates};

/// Seconds that a vector takes by itself.
const ROW: f64 = 6e-8;
/// Seconds to read a number of a vector and centre it.
const NUMBER: f64 = 5e-10;
/// Seconds of a multiply-add in single precision.
const MULTIPLY: f64 = 2.4e-11;
/// Seconds of a multiply-add of bytes, in the product of a vector and the anchors.
const MULTIPLY_BYTES: f64 = 4.8e-12;
/// Seconds of a multiply-add of 16-bit numbers, in the product of similarities and weights.
const MULTIPLY_WORDS: f64 = 1.05e-11;
/// Seconds to make a similarity of a product, by whole numbers.
const SIMILARITY: f64 = 7.3e-10;
/// The same in single precision.
const EXPONENTIAL: f64 = 5e-10;

/// Bits are projected so many at a time.
const LANES: usize = 16;

/// The seconds that a vector takes to encode.
fn encode(asked: &Asked) -> f64 {
    let (dim, bits) = (asked.dim as f64, asked.bits.next_multiple_of(LANES) as f64);
    let lifted = match asked.function {
        Function::None => 0.0,
        Function::Compact { anchors, depth } => {
            let reduced = if depth < asked.dim { dim * depth as f64 * MULTIPLY } else { 0.0 };
            let each = SIMILARITY + depth as f64 * MULTIPLY_BYTES + bits * MULTIPLY_WORDS;
            reduced + anchors as f64 * each
        }
        Function::Full { anchors } => anchors as f64 * (EXPONENTIAL + (dim + bits) * MULTIPLY),
    };
    // The detail bits of a lifted function are a projection of the vectors themselves.
    ROW + dim * NUMBER + lifted + dim * bits * MULTIPLY
}

/// Seconds to compare a word of a code with a query's, 64 queries at once.
const COMPARE: f64 = 6.8e-11;

/// Points at these numbers of items.
const fn measured(seconds: [f64; 4], beyond: f64) -> Growth {
    let [a, b, c, d] = seconds;
    Growth::new([(5e5, a), (2e6, b), (4e6, c), (1.6e7, d)], beyond)
}

/// Seconds of a query for the 10 nearest by the search structure.
fn query(asked: &Asked) -> Growth {
    let nearest_10 = match asked.bits {
        0..=16 => measured([1.4e-6; 4], 0.0),
        // The more codes, the more of them are equal.
        17..=32 => measured([11e-6, 9e-6, 7e-6, 6e-6], 0.0),
        // Beyond 2^20 codes keys get no longer, so that each has more codes.
        33..=64 => measured([22e-6, 46e-6, 60e-6, 88e-6], 0.5),
        // The last one follows from those before.
        65..=128 => measured([64e-6, 175e-6, 318e-6, 1050e-6], 0.9),
        // Codes of so many bits are scanned.
        _ => return Growth::power(1e6 * compare(asked), 1.0),
    };
    // 2.2 times as long for 100, and 4.4 times for 1,000.
    nearest_10.times((asked.k as f64 / 10.0).powf(0.33))
}

/// Seconds to put an item into an index with a search structure. The steep part is where codes are dealt out to
/// a thousand clusters once for every million items, 16 times at most.
fn build(asked: &Asked) -> Growth {
    let of_64 = measured([0.7e-6, 0.65e-6, 2.7e-6, 8.6e-6], 0.05);
    match asked.bits {
        0..=16 => Growth::power(0.12e-6, 0.0),
        17..=32 => of_64.times(0.5),
        33..=64 => of_64,
        65..=128 => of_64.times(1.9),
        bits => Growth::power(1e-6 * (bits as f64 / 256.0).powf(0.8), 0.0),
    }
}

/// Seconds to put an item into its group of near-duplicates. That grows with the number of items, since the classes
/// have so many more items near each other; the last point follows from those before.
fn group(asked: &Asked) -> Growth {
    let within_3 = measured([1.8e-6, 6.8e-6, 14.3e-6, 57e-6], 1.0);
    let pieces = f64::from(asked.radius) + 1.0;
    let bits = asked.bits as f64;
    if asked.bits <= 16 {
        // There are 65,536 codes at most.
        return Growth::power(0.25e-6, 0.0);
    }
    // Codes are compared that have a piece of their bits in common; short pieces are shared by too many.
    let shared =
        if bits / pieces < SHORT_PIECE { SHARED_BY_MANY } else { (pieces / 4.0).powf(1.9) };
    within_3.times(shared * (64.0 / bits.max(64.0)).powf(0.65))
}

/// Pieces of fewer bits are shared by too many codes.
const SHORT_PIECE: f64 = 12.0;
/// How many times as long it takes then.
const SHARED_BY_MANY: f64 = 30.0;

fn compare(asked: &Asked) -> f64 {
    // Short codes stand two to a word.
    COMPARE * if asked.bits <= 32 { 0.5 } else { asked.bits.div_ceil(64) as f64 }
}

/// The built-in rates at what is asked for.
pub fn built_in(asked: &Asked) -> Rates {
    Rates {
        encode: encode(asked),
        compare: compare(asked),
        query: query(asked),
        build: build(asked),
        group: group(asked),
    }
}
