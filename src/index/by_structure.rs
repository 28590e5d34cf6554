//! Searching a segment by its structure, where that is faster than to scan everything.

use rayon::prelude::*;

use super::balls::Balls;
use super::best::Best;
use super::buckets::Buckets;
use super::chosen::Chosen;
use super::search::{Asked, GUESSED, Search, Want};
use super::segment::Bitmap;
use super::structure::Structure;
use super::tiles::Queries;
use crate::Result;
use crate::kernel::parts;

/// What part of the cost of a scan a search by balls may have; beyond it, the scan is faster, since
/// many queries share what it reads.
const PART: usize = 2;

/// A search by balls.
struct ByBalls<'a> {
    asked: &'a Asked<'a>,
    balls: &'a Balls,
    /// Bitmaps of codes that may be found, in the order of balls.
    chosen: &'a [&'a Bitmap],
    /// What it may cost.
    most: usize,
}

impl Search<'_> {
    /// What queries find by the structure of a segment, if it has one and that is faster. Those that
    /// are still to be asked stay.
    pub(super) fn by_structure(
        &self,
        asked: &mut Asked<'_>,
        threads: usize,
    ) -> Result<Vec<(usize, Vec<u64>)>> {
        let (segment, many) = (asked.segment, asked.chunk.len());
        if !self.structures || matches!(asked.chosen, Chosen::Few(_)) {
            return Ok(Vec::new());
        }
        let work = (segment.slots() * many) as u64;
        let Some(structure) = segment.structure.get(segment, self.want, self.kernel, work)? else {
            return Ok(Vec::new());
        };
        let mut live = None;
        let mut chosen: Vec<&Bitmap> = Vec::new();
        if let Structure::Balls(balls) = structure {
            if let Chosen::Many(some) = asked.chosen {
                match some.in_order(balls, many) {
                    Some(bits) => chosen.push(bits),
                    None => return Ok(Vec::new()),
                }
            }
            live = segment.structure.live_in_order(segment, balls);
        }
        chosen.extend(live.as_deref());
        // A scan of few queries is shared by the threads.
        let most = segment.slots() / if many < threads { PART.max(threads) } else { PART };
        let one = |(&query, &limit): (&usize, &u32)| {
            let mut limit = limit;
            let hits = match structure {
                Structure::Balls(balls) => {
                    let search = ByBalls { asked, balls, chosen: &chosen, most };
                    self.by_balls(&search, query, &mut limit)?
                }
                Structure::Buckets(buckets) => self.by_buckets(asked, buckets, query),
            };
            Ok((query, limit, hits))
        };
        let queries = (&asked.chunk, &asked.limits);
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
        (asked.chunk, asked.limits) = left.into_iter().unzip();
        Ok(found)
    }

    fn by_buckets(&self, asked: &Asked<'_>, buckets: &Buckets, query: usize) -> Option<Vec<u64>> {
        let Asked { codes, segment, chosen, .. } = asked;
        let Want::Within(radius) = self.want else { return None };
        if !buckets.pay(radius) {
            return None;
        }
        let mut hits = Vec::new();
        buckets.within(self.kernel, codes.code(query), radius, &mut hits);
        if segment.live().is_some() || !matches!(chosen, Chosen::All) {
            hits.retain(|&hit| {
                let slot = parts(hit).1 as usize;
                segment.is_live(slot) && chosen.contains(slot)
            });
        }
        hits.sort_unstable();
        Some(hits)
    }

    /// What a query finds by balls. If that takes too long it is given up; then the limit may have
    /// fallen.
    fn by_balls(
        &self,
        search: &ByBalls<'_>,
        query: usize,
        limit: &mut u32,
    ) -> Result<Option<Vec<u64>>> {
        let &ByBalls { asked, balls, chosen, most } = search;
        let (kernel, codes, segment) = (self.kernel, asked.codes, asked.segment);
        let code = codes.code(query);
        let scan = |ball: usize, best: &mut Best, guess: bool| {
            let queries = Queries { kernel, codes, chunk: &[query], guess };
            balls.source(segment, ball, chosen).scan(&queries, std::slice::from_mut(best))
        };
        let mut best = self.best(*limit);
        let Want::Nearest(k) = self.want else {
            let near = balls.below(kernel, code, *limit);
            if near.iter().map(|&(_, ball)| balls.cost(ball)).sum::<usize>() > most {
                return Ok(None);
            }
            for &(_, ball) in &near {
                scan(ball, &mut best, false)?;
                best.start_anew();
            }
            return Ok(Some(best.finish()));
        };
        let filtered = !matches!(asked.chosen, Chosen::All);
        if !balls.pay(k, filtered) {
            return Ok(None);
        }
        // The nearest ball first: most that is wanted is there, and makes the limit fall.
        let Some(first) = balls.nearest(kernel, code) else { return Ok(None) };
        let mut cost = balls.cost(first);
        if cost <= most {
            scan(first, &mut best, k >= GUESSED)?;
            if best.failed() {
                best = self.best(*limit);
                scan(first, &mut best, false)?;
            }
            best.start_anew();
            for (bound, ball) in balls.below(kernel, code, best.limit()) {
                if bound >= best.limit() {
                    break;
                }
                if ball == first {
                    continue;
                }
                cost += balls.cost(ball);
                if cost > most {
                    break;
                }
                scan(ball, &mut best, false)?;
            }
        }
        balls.note(k, filtered, cost > most);
        *limit = best.limit();
        Ok((cost <= most).then(|| best.finish()))
    }
}
