//! Built-in rates: the speed of one core of an AMD EPYC virtual machine with AVX-512 that also ran
//! other work.
//!
//! All rates are processor time of a release build. The rates of encoding and comparing are fitted
//! to measurements of `hashbrook size --items 1M --measure` with `--dim` 64, 128 and 784, `--bits`
//! 16 to 512, and functions of all kinds. The growth of searching, building and grouping is fitted
//! to `hashbrook size --check 500k,2M`, `1M,4M` and `16M`, with `--bits` 32 to 256 and `--radius` 0
//! to 6. The codes are those of `codes.rs`.
//!
//! Not measured, but interpolated or extrapolated:
//!
//! - at 2 million items: queries of 32 bits, and groups within 3 bits;
//! - at 16 million items: all but 64 bits, and groups within more than 0 bits;
//! - above 500,000 items: `k` other than 10;
//! - everything beyond 16 million items.

use super::growth::Growth;
use super::model::{Asked, Function, Rates};

/// Constant seconds per vector.
const ROW: f64 = 6e-8;
/// Seconds to read and centre one value of a vector.
const NUMBER: f64 = 5e-10;
/// Seconds of a multiply-add in single precision.
const MULTIPLY: f64 = 2.4e-11;
/// Seconds of a multiply-add of bytes, in the product of a vector and the anchors.
const MULTIPLY_BYTES: f64 = 4.8e-12;
/// Seconds of a multiply-add of 16-bit numbers, in the product of similarities and weights.
const MULTIPLY_WORDS: f64 = 1.05e-11;
/// Seconds to compute a similarity from a product, in integers.
const SIMILARITY: f64 = 7.3e-10;
/// Seconds to compute a similarity from a product, in single precision.
const EXPONENTIAL: f64 = 5e-10;

/// Number of bits that are projected at a time.
const LANES: usize = 16;

/// Returns the seconds to encode a vector.
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

/// Seconds to compare a word of a code with a word of a query, if 64 queries share each scan.
const COMPARE: f64 = 6.8e-11;

/// Returns the growth through the seconds measured at 0.5, 2, 4 and 16 million items.
const fn measured(seconds: [f64; 4], beyond: f64) -> Growth {
    let [a, b, c, d] = seconds;
    Growth::new([(5e5, a), (2e6, b), (4e6, c), (1.6e7, d)], beyond)
}

/// Returns the seconds of a query for the `k` nearest by the search structure.
fn query(asked: &Asked) -> Growth {
    let nearest_10 = match asked.bits {
        0..=16 => measured([1.4e-6; 4], 0.0),
        // More items share each code as their number grows, so a query takes less time.
        17..=32 => measured([11e-6, 9e-6, 7e-6, 6e-6], 0.0),
        // Beyond 2^20 codes keys do not get longer, so the number of codes per key grows.
        33..=64 => measured([22e-6, 46e-6, 60e-6, 88e-6], 0.5),
        // The last value is extrapolated.
        65..=128 => measured([64e-6, 175e-6, 318e-6, 1050e-6], 0.9),
        // Codes of this length are scanned.
        _ => return Growth::power(1e6 * compare(asked), 1.0),
    };
    // A query takes 2.2 times the time for 100 hits, and 4.4 times for 1,000.
    nearest_10.times((asked.k as f64 / 10.0).powf(0.33))
}

/// Returns the seconds to insert an item into an index with a search structure. The growth is steep
/// where codes are distributed over a thousand clusters per million items, at most 16 times.
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

/// Returns the seconds to find the group of near-duplicates of an item. The time grows with the
/// number of items, because each class then has more items near each other. The last point is
/// extrapolated.
fn group(asked: &Asked) -> Growth {
    let within_3 = measured([1.8e-6, 6.8e-6, 14.3e-6, 57e-6], 1.0);
    let pieces = f64::from(asked.radius) + 1.0;
    let bits = asked.bits as f64;
    if asked.bits <= 16 {
        // At most 65,536 distinct codes exist.
        return Growth::power(0.25e-6, 0.0);
    }
    // Only codes that share a piece of their bits are compared. Many codes share a short piece.
    let shared =
        if bits / pieces < SHORT_PIECE { SHARED_BY_MANY } else { (pieces / 4.0).powf(1.9) };
    within_3.times(shared * (64.0 / bits.max(64.0)).powf(0.65))
}

/// Minimum number of bits of a piece that few codes share.
const SHORT_PIECE: f64 = 12.0;
/// Slowdown if pieces are shorter than `SHORT_PIECE`.
const SHARED_BY_MANY: f64 = 30.0;

fn compare(asked: &Asked) -> f64 {
    // A 64-bit word stores two short codes.
    COMPARE * if asked.bits <= 32 { 0.5 } else { asked.bits.div_ceil(64) as f64 }
}

/// Returns the built-in rates for these parameters.
pub fn built_in(asked: &Asked) -> Rates {
    Rates {
        encode: encode(asked),
        compare: compare(asked),
        query: query(asked),
        build: build(asked),
        group: group(asked),
    }
}
