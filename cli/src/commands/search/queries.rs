//! What is searched with: codes, with or without weights, or vectors where these are to rank by.

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

/// What queries found.
pub enum Found {
    ByCode(Hits),
    Ranked(Hits<RankedHit>),
}

impl Queries {
    /// The vectors of some files, for an index that keeps vectors.
    pub fn read_vectors(index: &Index, files: &[String], roles: &[Role<'_>]) -> Result<Queries> {
        let (Some(function), Some(_)) = (index.function(), index.vector_format()) else {
            bail!(
                "the index keeps no vectors to rank by; build it anew with `index build --vectors f16`"
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

    /// The vectors of some files, encoded by a function and weighed, if there is a dial.
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

    /// Codes, weighed if there is a dial.
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

    /// Some of them.
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

/// Some queries.
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

    /// The `k` nearest, or all within a radius; vectors rank so many candidates again.
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
    /// How many hits there are.
    pub fn count(&self) -> usize {
        match self {
            Found::ByCode(hits) => hits.all().len(),
            Found::Ranked(hits) => hits.all().len(),
        }
    }

    /// What each query found; the scores of hits by code alone mean nothing.
    pub fn rows(&self) -> Box<dyn Iterator<Item = Vec<RankedHit>> + '_> {
        match self {
            Found::Ranked(hits) => Box::new(hits.iter().map(<[RankedHit]>::to_vec)),
            Found::ByCode(hits) => Box::new(hits.iter().map(|row| {
                row.iter().map(|hit| RankedHit::new(hit.id, 0.0, hit.distance)).collect()
            })),
        }
    }
}
