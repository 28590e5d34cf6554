//! t-SNE (L. van der Maaten and G. Hinton, JMLR 2008), exact, for some hundreds of points.
//!
//! Exact t-SNE is instant for so few points, and its code fits on a page. The start is
//! deterministic, so that a drawing is the same every time.

const PERPLEXITY: f64 = 30.0;
const EPOCHS: usize = 500;
/// Number of initial epochs in which attraction is multiplied by `EXAGGERATION`.
const EXAGGERATED: usize = 100;
const EXAGGERATION: f64 = 12.0;

/// Embeds points in the plane, given the matrix of their squared distances, row by row.
pub fn embed(squared: &[f64], count: usize) -> Vec<[f64; 2]> {
    if count < 3 {
        return (0..count).map(|at| [at as f64, 0.0]).collect();
    }
    let affinities = affinities(squared, count);
    let mut points: Vec<[f64; 2]> = (0..count).map(start).collect();
    let mut speeds = vec![[0.0; 2]; count];
    let mut gains = vec![[1.0f64; 2]; count];
    let rate = (count as f64 / EXAGGERATION).max(50.0);
    for epoch in 0..EPOCHS {
        let pull = if epoch < EXAGGERATED { EXAGGERATION } else { 1.0 };
        let momentum = if epoch < EXAGGERATED { 0.5 } else { 0.8 };
        let gradient = gradient(&affinities, &points, pull);
        for (((point, speed), gain), slope) in
            points.iter_mut().zip(&mut speeds).zip(&mut gains).zip(&gradient)
        {
            for axis in 0..2 {
                let onward = (slope[axis] > 0.0) != (speed[axis] > 0.0);
                gain[axis] = if onward { gain[axis] + 0.2 } else { gain[axis] * 0.8 }.max(0.01);
                speed[axis] = momentum * speed[axis] - rate * gain[axis] * slope[axis];
                point[axis] += speed[axis];
            }
        }
    }
    points
}

/// Returns small pseudo-random coordinates for the point with index `at`.
fn start(at: usize) -> [f64; 2] {
    let mixed = |salt: u64| {
        let mut bits = (at as u64).wrapping_add(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    [mixed(1) * 1e-2, mixed(1 << 40) * 1e-2]
}

/// Returns the affinity of each pair: symmetric, with sum 1.
fn affinities(squared: &[f64], count: usize) -> Vec<f64> {
    let wanted = PERPLEXITY.min((count as f64 - 1.0) / 3.0).max(1.0).ln();
    let mut all = vec![0.0; count * count];
    for (i, (row, distances)) in
        all.chunks_exact_mut(count).zip(squared.chunks_exact(count)).enumerate()
    {
        // Finds the width of the kernel around this point by bisection.
        let (mut low, mut high, mut beta) = (0.0, f64::INFINITY, 1.0);
        for _ in 0..60 {
            let (mut sum, mut weighed) = (0.0, 0.0);
            for (j, (value, distance)) in row.iter_mut().zip(distances).enumerate() {
                *value = if i == j { 0.0 } else { (-beta * distance).exp() };
                sum += *value;
                weighed += *value * distance;
            }
            let entropy = if sum > 0.0 { sum.ln() + beta * weighed / sum } else { 0.0 };
            if (entropy - wanted).abs() < 1e-5 {
                break;
            }
            (low, high) = if entropy > wanted { (beta, high) } else { (low, beta) };
            beta = if high.is_finite() { (low + high) / 2.0 } else { beta * 2.0 };
            // If many codes are equal, no width is narrow enough.
            if beta > 1e12 {
                break;
            }
        }
        let sum: f64 = row.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        row.iter_mut().for_each(|value| *value /= sum);
    }
    let mut both = vec![0.0; count * count];
    for i in 0..count {
        for j in 0..count {
            both[i * count + j] = (all[i * count + j] + all[j * count + i]) / (2 * count) as f64;
        }
    }
    both
}

fn gradient(affinities: &[f64], points: &[[f64; 2]], pull: f64) -> Vec<[f64; 2]> {
    let count = points.len();
    let near =
        |a: &[f64; 2], b: &[f64; 2]| 1.0 / (1.0 + (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2));
    let total: f64 =
        points.iter().flat_map(|a| points.iter().map(move |b| near(a, b))).sum::<f64>()
            - count as f64;
    points
        .iter()
        .zip(affinities.chunks_exact(count))
        .map(|(a, affinities)| {
            let mut slope = [0.0; 2];
            for (b, affinity) in points.iter().zip(affinities) {
                let near = near(a, b);
                let force = 4.0 * (pull * affinity - near / total.max(f64::MIN_POSITIVE)) * near;
                slope[0] += force * (a[0] - b[0]);
                slope[1] += force * (a[1] - b[1]);
            }
            slope
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_stay_clusters() {
        // Three groups: points are near within a group, and far between groups.
        let count = 90;
        let group = |at: usize| at % 3;
        let squared: Vec<f64> = (0..count * count)
            .map(|at| {
                let (i, j) = (at / count, at % count);
                if i == j {
                    0.0
                } else if group(i) == group(j) {
                    4.0
                } else {
                    100.0
                }
            })
            .collect();
        let points = embed(&squared, count);
        let distance =
            |i: usize, j: usize| (points[i][0] - points[j][0]).hypot(points[i][1] - points[j][1]);
        for i in 0..count {
            let nearest = (0..count)
                .filter(|&j| j != i)
                .min_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b)));
            assert_eq!(nearest.map(group), Some(group(i)), "point {i}");
        }
    }

    #[test]
    fn equal_points_and_few_points_are_placed_too() {
        assert!(embed(&[0.0; 400], 20).iter().flatten().all(|value| value.is_finite()));
        assert_eq!(embed(&[0.0, 1.0, 1.0, 0.0], 2).len(), 2);
        assert!(embed(&[], 0).is_empty());
    }
}
