//! [`IdSet`]: the ids of a filter.

use std::sync::Arc;

use roaring::RoaringTreemap;

/// Least average number of ids, per non-empty range of 2^16 ids, for which a bitmap is used. A
/// bitmap takes up to 2 bytes per id and about 212 bytes per range, so from this density on it is
/// smaller than a list. (A million ids drawn from all of `u64` took 212 MB as a bitmap; a list
/// takes 8 MB.)
const DENSE: usize = 64;

/// Set of ids, which clones share.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum IdSet {
    /// Sparse ids, ascending.
    Listed(Arc<[u64]>),
    /// Clustered ids.
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
