//! Normalised discounted cumulative gain, for labels that are shared in part.

use super::measures::Measures;

/// What a gain counts at each rank.
pub(super) struct Discounts {
    /// `1 / log2(1 + rank)`, from the first rank on.
    at: Vec<f64>,
    /// At `r`: the sum of the first `r`.
    total: Vec<f64>,
}

impl Discounts {
    /// For all ranks that are measured of a database of so many items.
    pub(super) fn new(measures: &Measures, items: usize) -> Self {
        let deepest = measures.ndcg_at.iter().max().map_or(0, |&r| r.min(items));
        let at: Vec<f64> = (0..deepest).map(|rank| 1.0 / (rank as f64 + 2.0).log2()).collect();
        let mut total = vec![0.0];
        for discount in &at {
            total.push(total[total.len() - 1] + discount);
        }
        Discounts { at, total }
    }

    /// nDCG at each of its ranks, from the gains of the first ranks and of all relevant items (1 each
    /// where there are no `gains`). `None` where nothing is relevant.
    pub(super) fn score(
        &self,
        head: &[u32],
        (relevant, gains): (&[u32], &[u32]),
        measures: &Measures,
    ) -> Vec<Option<f64>> {
        // How many items there are of each gain.
        let mut counts = vec![0; gains.iter().max().map_or(2, |&most| most as usize + 1)];
        match gains {
            [] => counts[1] = relevant.len(),
            _ => gains.iter().for_each(|&gain| counts[gain as usize] += 1),
        }
        let score = |&r: &usize| {
            let r = r.min(self.at.len());
            let gain = |(&gain, discount): (&u32, &f64)| f64::from(gain) * discount;
            let found: f64 = head.iter().zip(&self.at[..r]).map(gain).sum();
            let (mut best, mut rank) = (0.0, 0);
            for (gain, count) in counts.iter().enumerate().rev() {
                let end = (rank + count).min(r);
                best += gain as f64 * (self.total[end] - self.total[rank]);
                rank = end;
            }
            (!relevant.is_empty()).then(|| found / best)
        };
        measures.ndcg_at.iter().map(score).collect()
    }
}
