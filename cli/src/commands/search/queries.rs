//! Queries of a search: codes, with or without weights, or vectors if hits are re-ranked by
//! vectors.

use std::ops::Range;

use anyhow::{Result, bail};
use hashbrook::{Codes, Dial, Features, HashFunction, Hits, Index, RankedHit, View, Weighed};

use crate::columns::Role;
use crate::input;

/// Queries of one kind.
pub enum Queries {
    Codes(Codes),
    Weighed(Weighed),
    /// Vectors, row-major, and their dimension.
    Vectors(Vec<f32>, usize),
}

/// Hits of queries.
pub enum Found {
    ByCode(Hits),
    Ranked(Hits<RankedHit>),
}

impl Queries {
    /// Reads the vectors of some files, for an index that stores vectors.
    pub fn read_vectors(index: &Index, files: &[String], roles: &[Role<'_>]) -> Result<Queries> {
        let (Some(function), Some(_)) = (index.function(), index.vector_format()) else {
            bail!(
                "the index keeps no vectors to rank by; rebuild it with `index build --vectors f16`"
            );
        };
        let mut values = Vec::new();
        let mut reader = input::open_for(function, files, roles)?;
        input::for_each_rows("reading", &mut reader, |rows| {
            values.extend_from_slice(rows.values());
            Ok(())
        })?;
        Ok(Queries::Vectors(values, function.dim()))
    }

    /// Reads the vectors of some files and encodes them; weights the bits if there is a dial.
    pub fn encode(
        function: &HashFunction,
        dial: Option<Dial>,
        files: &[String],
        roles: &[Role<'_>],
    ) -> Result<Queries> {
        let mut reader = input::open_for(function, files, roles)?;
        let Some(dial) = dial else {
            return Ok(Queries::Codes(input::encode_all("encoding", function, &mut reader)?));
        };
        let mut weighed = dial.weigh(function, Features::new(&[], function.dim())?)?;
        input::for_each_rows("encoding", &mut reader, |rows| {
            Ok(weighed.append(&dial.weigh(function, rows)?)?)
        })?;
        Ok(Queries::Weighed(weighed))
    }

    /// Returns queries of codes, weighted if there is a dial.
    pub fn of_codes(index: &Index, dial: Option<Dial>, codes: Codes) -> Result<Queries> {
        Ok(match dial {
            Some(dial) => Queries::Weighed(dial.weigh_codes(index.function(), &codes)?),
            None => Queries::Codes(codes),
        })
    }

    pub fn len(&self) -> usize {
        match self {
            Queries::Codes(codes) => codes.len(),
            Queries::Weighed(weighed) => weighed.codes().len(),
            Queries::Vectors(values, dim) => values.len() / dim,
        }
    }

    /// Returns a range of the queries.
    pub fn part(&self, rows: Range<usize>) -> Result<Part<'_>> {
        Ok(match self {
            Queries::Codes(codes) => Part::Codes(codes.select(&rows.collect::<Vec<usize>>())),
            Queries::Weighed(weighed) => {
                Part::Weighed(weighed.select(&rows.collect::<Vec<usize>>()))
            }
            Queries::Vectors(values, dim) => {
                Part::Vectors(Features::new(&values[rows.start * dim..rows.end * dim], *dim)?)
            }
        })
    }
}

/// A range of queries.
pub enum Part<'a> {
    Codes(Codes),
    Weighed(Weighed),
    Vectors(Features<'a>),
}

impl Part<'_> {
    pub fn len(&self) -> usize {
        match self {
            Part::Codes(codes) => codes.len(),
            Part::Weighed(weighed) => weighed.codes().len(),
            Part::Vectors(features) => features.len(),
        }
    }

    /// Returns the `k` nearest items, or all within a radius. Vectors re-rank `candidates` items.
    pub fn find(
        &self,
        view: View<'_>,
        candidates: Option<usize>,
        k: Option<usize>,
        radius: Option<u32>,
    ) -> Result<Found> {
        let radius = radius.unwrap_or(0);
        Ok(match self {
            Part::Codes(codes) => Found::ByCode(match k {
                Some(k) => view.search_codes(codes, k)?,
                None => view.within_codes(codes, radius)?,
            }),
            Part::Weighed(weighed) => Found::ByCode(match k {
                Some(k) => view.search_weighed(weighed, k)?,
                None => view.within_weighed(weighed, radius)?,
            }),
            Part::Vectors(features) => {
                let view = view.rerank(candidates.unwrap_or(usize::MAX));
                Found::Ranked(match k {
                    Some(k) => view.search(*features, k)?,
                    None => view.within(*features, radius)?,
                })
            }
        })
    }
}

impl Found {
    /// Returns the number of hits.
    pub fn count(&self) -> usize {
        match self {
            Found::ByCode(hits) => hits.all().len(),
            Found::Ranked(hits) => hits.all().len(),
        }
    }

    /// Returns the hits of each query. Scores are meaningless for hits that are ranked by code
    /// alone.
    pub fn rows(&self) -> Box<dyn Iterator<Item = Vec<RankedHit>> + '_> {
        match self {
            Found::Ranked(hits) => Box::new(hits.iter().map(<[RankedHit]>::to_vec)),
            Found::ByCode(hits) => Box::new(hits.iter().map(|row| {
                row.iter().map(|hit| RankedHit::new(hit.id, 0.0, hit.distance)).collect()
            })),
        }
    }
}
