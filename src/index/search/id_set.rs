//! Ids that a filter lets through.

use std::sync::Arc;

use roaring::RoaringTreemap;

/// How many ids there must be, on average, in each piece of 2^16 ids that has any, for a bitmap. It takes up
/// to 2 bytes for each id and about 212 for each piece (a million ids drawn from all of `u64` took 212 MB, where
/// a list takes 8), so that from here on it is smaller than a list.
const DENSE: usize = 64;

/// A set of ids; a clone shares them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum IdSet {
    /// Far apart; ascending.
    Listed(Arc<[u64]>),
    /// Near one another.
    Bitmap(Arc<RoaringTreemap>),
}

impl FromIterator<u64> for IdSet {
    fn from_iter<I: IntoIterator<Item = u64>>(ids: I) -> IdSet {
        let mut ids: Vec<u64> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        let pieces = ids.chunk_by(|one, next| one >> 16 == next >> 16).count();
        if ids.len() < DENSE * pieces {
            return IdSet::Listed(ids.into());
        }
        IdSet::Bitmap(Arc::new(ids.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_follows_the_ids() {
        let set = |step: u64| (0..5000).rev().chain(0..9).map(|at| at * step).collect::<IdSet>();
        let IdSet::Bitmap(near) = set(1000) else { panic!("65 to each 2^16") };
        let IdSet::Listed(far) = set(2000) else { panic!("33 to each 2^16") };
        assert!(near.iter().eq((0..5000).map(|at| at * 1000)));
        assert!(far.iter().copied().eq((0..5000).map(|at| at * 2000)));
        assert_eq!(set(1000), (0..5000).map(|at| at * 1000).collect());
        assert!(
            matches!([u64::MAX, 0].into_iter().collect(), IdSet::Listed(ids) if *ids == [0, u64::MAX])
        );
    }
}
