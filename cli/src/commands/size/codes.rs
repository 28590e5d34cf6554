//! Synthetic codes to measure with, distributed like those of real items.
//!
//! The model of supervised codes is fitted to the codes that `brook` makes of Tiny-ImageNet
//! features: 202 classes in 64 bits. `fit_codes.py work/tinyimagenet-cnn`, in `bench/`, prints the
//! numbers below. An item's code is that of its class with some bits flipped. Most of the flipped
//! bits are bits in which the class differs from a similar class. The number of classes and their
//! popularity are not fitted, because data sets have the same number of items per class.

use hashbrook::Codes;
use rayon::prelude::*;

/// Number of bits, out of 64, in which an item's code differs from the code of its class. Items are
/// sorted by this number; the list has the middle of each sixteenth of the items.
const TURNED: [usize; 16] = [0, 0, 1, 2, 3, 5, 7, 9, 11, 13, 15, 17, 20, 22, 26, 30];

/// Number of classes that are similar to each class.
const ALIKE: usize = 8;

/// Logarithm to base 2 of how many times likelier a bit is flipped if it differs between the item's
/// class and a similar class.
const LOG_PREFERENCE: u32 = 5;

const CLASSES: usize = 1000;

/// Exponent of popularity. Class `c` has items in proportion to `1 / sqrt(c + 1)`: the most popular
/// class has 32 times the items of the least popular one.
const POPULARITY: f64 = -0.5;

/// Number of entries in `World::shares`, over which the classes are distributed.
const SHARES: usize = 1 << 12;

/// Number of random bits that choose one bit of a code and decide whether it is flipped.
const DRAW: u32 = 16 + LOG_PREFERENCE;

/// Number of codes per parallel task.
const TOGETHER: usize = 1 << 12;

/// Classes from which items are drawn.
pub struct World {
    bits: usize,
    centres: Codes,
    alike: Vec<[u16; ALIKE]>,
    /// Classes, each repeated in proportion to its popularity.
    shares: Vec<u16>,
}

/// Set of items to draw: the items of the index, or the queries.
#[derive(Clone, Copy)]
pub enum Items {
    Database = 1,
    Queries = 2,
}

impl World {
    /// Creates classes with codes of `bits` bits.
    ///
    /// # Errors
    /// Fails if codes cannot have this length.
    pub fn new(bits: usize) -> hashbrook::Result<World> {
        let mut random = Random::new(0, 0);
        let words = bits.div_ceil(64);
        let last = if bits.is_multiple_of(64) { u64::MAX } else { (1 << (bits % 64)) - 1 };
        let mut centres = Vec::with_capacity(CLASSES * words);
        for _ in 0..CLASSES {
            centres.extend(
                (1..=words).map(|word| random.next() & if word == words { last } else { u64::MAX }),
            );
        }
        // Similar classes are drawn from all classes except the class itself.
        let mut other =
            |class: usize| (class + 1 + random.next() as usize % (CLASSES - 1)) % CLASSES;
        let alike =
            (0..CLASSES).map(|class| std::array::from_fn(|_| other(class) as u16)).collect();
        let popularity = |class: usize| (class as f64 + 1.0).powf(POPULARITY);
        let all: f64 = (0..CLASSES).map(popularity).sum();
        let (mut shares, mut sum) = (Vec::with_capacity(SHARES), 0.0);
        for class in 0..CLASSES {
            sum += popularity(class);
            shares.resize((sum / all * SHARES as f64).round() as usize, class as u16);
        }
        shares.resize(SHARES, 0);
        Ok(World { bits, centres: Codes::from_words(bits, centres)?, alike, shares })
    }

    /// Returns the codes of `count` items from number `first` on, computed on all threads. The code
    /// of an item does not depend on the others.
    ///
    /// # Errors
    /// Never fails: the codes have the right number of bits.
    pub fn codes(&self, items: Items, first: u64, count: usize) -> hashbrook::Result<Codes> {
        let stride = self.centres.words_per_code();
        let mut words = vec![0; count * stride];
        words.par_chunks_mut(TOGETHER * stride).enumerate().for_each(|(chunk, words)| {
            let first = first + (chunk * TOGETHER) as u64;
            for (item, code) in (first..).zip(words.chunks_exact_mut(stride)) {
                self.code(&mut Random::new(items as u64, item), code);
            }
        });
        Codes::from_words(self.bits, words)
    }

    fn code(&self, random: &mut Random, code: &mut [u64]) {
        let draw = random.next() as usize;
        let class = usize::from(self.shares[draw % SHARES]);
        let centre = self.centres.code(class);
        let other = self.alike[class][(draw >> 16) % ALIKE];
        let other = self.centres.code(usize::from(other));
        code.copy_from_slice(centre);
        let mut left = TURNED[(draw >> 24) % TURNED.len()] * self.bits / 64;
        while left > 0 {
            let mut draw = random.next();
            for _ in 0..u64::BITS / DRAW {
                let bit = ((draw & 0xFFFF) as usize * self.bits) >> 16;
                let (word, mask) = (bit / 64, 1 << (bit % 64));
                let prefers = (centre[word] ^ other[word]) & mask != 0;
                let accepts = prefers || (draw >> 16).is_multiple_of(1 << LOG_PREFERENCE);
                let is_turned = (code[word] ^ centre[word]) & mask != 0;
                if left > 0 && accepts && !is_turned {
                    code[word] ^= mask;
                    left -= 1;
                }
                draw >>= DRAW;
            }
        }
    }
}

/// Random number generator: splitmix64, one stream for each item.
pub struct Random(u64);

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    pub fn new(stream: u64, item: u64) -> Random {
        // Mixed, because the streams of consecutive items would otherwise overlap.
        let mut random = Random(item);
        Random(random.next() ^ stream.wrapping_mul(GOLDEN))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from -1 to 1.
    pub fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrook::hamming;

    #[test]
    fn codes_do_not_depend_on_how_they_are_cut() {
        for bits in [1, 20, 64, 100, 1024] {
            let world = World::new(bits).unwrap();
            let all = world.codes(Items::Database, 0, 10_000).unwrap();
            let part = world.codes(Items::Database, 5_000, 17).unwrap();
            assert!((0..17).all(|at| part.code(at) == all.code(5_000 + at)), "{bits} bits");
            let others = world.codes(Items::Queries, 0, 10_000).unwrap();
            assert!(bits == 1 || others != all);
        }
    }

    #[test]
    fn items_differ_from_their_centres_as_was_fitted() {
        let world = World::new(64).unwrap();
        let count = 20_000;
        let codes = world.codes(Items::Database, 0, count).unwrap();
        let (mut turned, mut preferred, mut counts) = (0, 0, [0; CLASSES]);
        for (item, code) in codes.iter().enumerate() {
            let draw = Random::new(Items::Database as u64, item as u64).next() as usize;
            let class = usize::from(world.shares[draw % SHARES]);
            let other = usize::from(world.alike[class][(draw >> 16) % ALIKE]);
            let (centre, other) = (world.centres.code(class), world.centres.code(other));
            let distance = hamming(code, centre);
            assert_eq!(distance as usize, TURNED[(draw >> 24) % 16]);
            turned += distance;
            preferred += ((code[0] ^ centre[0]) & (other[0] ^ centre[0])).count_ones();
            counts[class] += 1;
        }
        let mean = TURNED.iter().sum::<usize>() as f64 / 16.0;
        let found = f64::from(turned) / count as f64;
        assert!((found - mean).abs() < 0.3, "{found} of 64 bits, expected {mean}");
        let share = f64::from(preferred) / f64::from(turned);
        assert!((0.85..0.99).contains(&share), "towards a class that looks like it: {share}");
        assert!(counts[0] > 10 * counts[CLASSES - 1].max(1), "popular and rare classes");
    }
}
