//! The mutual information of distances and similarity, and its gradient.

/// Soft histograms of the distances from one point to a reservoir.
pub(super) struct Histograms {
    /// Distance to each point of the reservoir.
    distances: Vec<f64>,
    similar: Vec<bool>,
    /// Width of a bin, and the weight in each bin: of similar, dissimilar and all points.
    width: f64,
    near: Vec<f64>,
    far: Vec<f64>,
    all: Vec<f64>,
}

impl Histograms {
    /// Computes the histograms from relaxed bits in [-1, 1], of the point and of the reservoir. A
    /// distance counts for the two nearest bins, more for the nearer one.
    pub(super) fn new(own: &[f32], relaxed: &[f32], similar: &[bool], bins: usize) -> Self {
        let bits = own.len();
        let width = bits as f64 / bins as f64;
        let distances: Vec<f64> = relaxed
            .chunks_exact(bits)
            .map(|relaxed| (bits as f64 - dot(own, relaxed)) / 2.0)
            .collect();
        let mut near = vec![0.0; bins + 1];
        let mut far = vec![0.0; bins + 1];
        for (distance, &similar) in distances.iter().zip(similar) {
            let counts = if similar { &mut near } else { &mut far };
            let place = (distance / width).clamp(0.0, bins as f64);
            let lower = (place as usize).min(bins - 1);
            let share = place - lower as f64;
            counts[lower] += 1.0 - share;
            counts[lower + 1] += share;
        }
        let total = distances.len() as f64;
        let count = similar.iter().filter(|&&similar| similar).count() as f64;
        let all = near.iter().zip(&far).map(|(near, far)| (near + far) / total).collect();
        near.iter_mut().for_each(|value| *value /= count.max(1.0));
        far.iter_mut().for_each(|value| *value /= (total - count).max(1.0));
        Histograms { distances, similar: similar.to_vec(), width, near, far, all }
    }

    /// Returns the decrease of the mutual information per unit of distance to each point.
    pub(super) fn slopes(&self) -> Vec<f64> {
        let log = |value: &f64| if *value > 0.0 { value.log2() } else { 0.0 };
        // Decrease of the mutual information per unit of weight in a bin, for either kind of
        // points.
        let worth = |kind: &[f64]| -> Vec<f64> {
            self.all.iter().zip(kind).map(|(all, kind)| log(all) - log(kind)).collect()
        };
        let (near, far) = (worth(&self.near), worth(&self.far));
        let scale = 1.0 / (self.width * self.distances.len() as f64);
        let bins = near.len() - 1;
        self.distances
            .iter()
            .zip(&self.similar)
            .map(|(distance, &similar)| {
                let worth = if similar { &near } else { &far };
                // A distance on the edge of two bins belongs to the lower bin.
                let upper = ((distance / self.width).ceil() as usize).clamp(1, bins);
                scale * (worth[upper] - worth[upper - 1])
            })
            .collect()
    }
}

/// Returns the inner product. Eight partial sums allow the loop to be vectorized.
fn dot(left: &[f32], right: &[f32]) -> f64 {
    let mut sums = [0.0f32; 8];
    let (lefts, left) = left.as_chunks::<8>();
    let (rights, right) = right.as_chunks::<8>();
    for (left, right) in lefts.iter().zip(rights) {
        for lane in 0..8 {
            sums[lane] += left[lane] * right[lane];
        }
    }
    let rest: f32 = left.iter().zip(right).map(|(l, r)| l * r).sum();
    f64::from(sums.iter().sum::<f32>() + rest)
}
