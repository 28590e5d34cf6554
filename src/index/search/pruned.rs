//! Searching a segment by its search structure, where that is faster than to scan everything.

use rayon::prelude::*;

use super::goal::Goal;
use super::query::{GUESSED, Search, SegmentQueries};
use super::selection::Selection;
use super::structure::SearchStructure;
use crate::Result;
use crate::index::clusters::Clusters;
use crate::index::scan::{Queries, TopK};
use crate::index::tree::Tree;
use crate::kernel::parts;

/// What part of the cost of a scan a search by clusters may have; beyond it, the scan is faster, since
/// many queries share what it reads.
const PART: usize = 2;

/// A search by clusters.
struct ByClusters<'a> {
    segment_queries: &'a SegmentQueries<'a>,
    clusters: &'a Clusters,
    /// Bitmaps of codes that may be found, in the order of clusters.
    masks: &'a [&'a [u64]],
    /// What it may cost.
    most: usize,
}

impl Search<'_> {
    /// What queries find by the structure of a segment, if it has one and that is faster. Queries
    /// that it did not answer stay in `chunk`, for the scan.
    pub(super) fn pruned(
        &self,
        segment_queries: &mut SegmentQueries<'_>,
        threads: usize,
    ) -> Result<Vec<(usize, Vec<u64>)>> {
        // Structures rule out codes by distances in which all bits count the same.
        if !self.weights.is_empty() {
            return Ok(Vec::new());
        }
        let (segment, many) = (&segment_queries.searched.segment, segment_queries.chunk.len());
        let (columns, lazy) = (segment.columns(), segment_queries.searched.structure());
        if !self.structures || matches!(segment_queries.selection, Selection::Gathered(_)) {
            return Ok(Vec::new());
        }
        let work = (columns.len() * many) as u64;
        let Some(structure) = lazy.get(columns, self.goal, self.kernel, work)? else {
            return Ok(Vec::new());
        };
        let mut live = None;
        let mut masks: Vec<&[u64]> = Vec::new();
        if let SearchStructure::Clusters(clusters) = structure {
            if let Selection::Masked(some) = segment_queries.selection {
                match some.in_order(clusters, many) {
                    Some(bits) => masks.push(bits),
                    None => return Ok(Vec::new()),
                }
            }
            live = lazy.live_in_order(segment, clusters);
        }
        masks.extend(live.as_ref().map(|live| &live[..]));
        // A scan of few queries is shared by the threads.
        let most = columns.len() / if many < threads { PART.max(threads) } else { PART };
        let one = |(&query, &limit): (&usize, &u32)| {
            let mut limit = limit;
            let hits = match structure {
                SearchStructure::Clusters(clusters) => {
                    let search = ByClusters { segment_queries, clusters, masks: &masks, most };
                    self.by_clusters(&search, query, &mut limit)?
                }
                SearchStructure::Tree(tree) => self.by_tree(segment_queries, tree, query),
            };
            Ok((query, limit, hits))
        };
        let queries = (&segment_queries.chunk, &segment_queries.limits);
        let answers: Vec<(usize, u32, Option<Vec<u64>>)> = match threads {
            1 => queries.0.iter().zip(queries.1).map(one).collect::<Result<_>>()?,
            _ => queries.into_par_iter().map(one).collect::<Result<_>>()?,
        };
        let (mut found, mut left) = (Vec::with_capacity(many), Vec::new());
        for (query, limit, hits) in answers {
            match hits {
                Some(hits) => found.push((query, hits)),
                None => left.push((query, limit)),
            }
        }
        (segment_queries.chunk, segment_queries.limits) = left.into_iter().unzip();
        Ok(found)
    }

    fn by_tree(
        &self,
        segment_queries: &SegmentQueries<'_>,
        tree: &Tree,
        query: usize,
    ) -> Option<Vec<u64>> {
        let (codes, segment, selection) =
            (segment_queries.codes, segment_queries.segment(), segment_queries.selection);
        let Goal::Within(radius) = self.goal else { return None };
        if !tree.pay(radius) {
            return None;
        }
        let mut hits = Vec::new();
        tree.within(self.kernel, codes.code(query), radius, &mut hits);
        if segment.live().is_some() || !matches!(selection, Selection::All) {
            hits.retain(|&hit| {
                let slot = parts(hit).1 as usize;
                segment.is_live(slot) && selection.contains(slot)
            });
        }
        hits.sort_unstable();
        Some(hits)
    }

    /// What a query finds by clusters. If that takes too long it is given up; then the limit may have
    /// fallen.
    fn by_clusters(
        &self,
        search: &ByClusters<'_>,
        query: usize,
        limit: &mut u32,
    ) -> Result<Option<Vec<u64>>> {
        let &ByClusters { segment_queries, clusters, masks, most } = search;
        let (kernel, codes, live) =
            (self.kernel, segment_queries.codes, segment_queries.segment().live());
        let code = codes.code(query);
        let scan = |cluster: usize, top: &mut TopK, guess: bool| {
            let queries = Queries { kernel, codes, weights: self.weights, chunk: &[query], guess };
            clusters.source(cluster, masks, live).scan(&queries, std::slice::from_mut(top))
        };
        let mut top = self.top(*limit);
        let Goal::Nearest(k) = self.goal else {
            let near = clusters.below(kernel, code, *limit);
            if near.iter().map(|&(_, cluster)| clusters.cost(cluster)).sum::<usize>() > most {
                return Ok(None);
            }
            for &(_, cluster) in &near {
                scan(cluster, &mut top, false)?;
                top.start_anew();
            }
            return Ok(Some(top.finish()));
        };
        let filtered = !matches!(segment_queries.selection, Selection::All);
        if !clusters.pay(k, filtered) {
            return Ok(None);
        }
        // The nearest cluster first: most that is wanted is there, and makes the limit fall.
        let Some(first) = clusters.nearest(kernel, code) else { return Ok(None) };
        let mut cost = clusters.cost(first);
        if cost <= most {
            scan(first, &mut top, k >= GUESSED)?;
            if top.failed() {
                top = self.top(*limit);
                scan(first, &mut top, false)?;
            }
            top.start_anew();
            for (bound, cluster) in clusters.below(kernel, code, top.limit()) {
                if bound >= top.limit() {
                    break;
                }
                if cluster == first {
                    continue;
                }
                cost += clusters.cost(cluster);
                if cost > most {
                    break;
                }
                scan(cluster, &mut top, false)?;
            }
        }
        clusters.note(k, filtered, cost > most);
        *limit = top.limit();
        Ok((cost <= most).then(|| top.finish()))
    }
}
