//! hashbrook learns compact binary codes from a stream of labelled vectors. Vectors that share a
//! label get codes that differ in few bits. A search by Hamming distance therefore finds similar
//! items with little memory and in little time.
//!
//! ```text
//! Method  ->  Model  ->  HashFunction  ->  Codes  ->  Index
//! recipe      running    frozen            packed     searchable
//!             learner    x -> bits         bits
//! ```
//!
//! * A [`Method`] is a learning algorithm with its parameters: the built-in [`brook`], or a
//!   published one.
//! * A [`Model`] is a running learner. It learns batch after batch, and can be saved and resumed at
//!   any time.
//! * A [`HashFunction`] is a frozen copy of what a model has learned so far. It includes every step
//!   from a vector to its code.
//! * [`Codes`] are the packed output, 64 bits to a word.
//! * An [`Index`] holds ids with their codes, and finds the nearest codes exactly and fast.
//!
//! A sixth type, [`Store`], is a durable collection that combines and automates all of these.
//!
//! # Learn, encode, measure
//!
//! The crate includes 1,797 handwritten digits for experiments:
//!
//! ```
//! use hashbrook::dataset::{Digits, digits};
//! use hashbrook::eval::{Metric, evaluate};
//! use hashbrook::{Batch, Features, Labels, Method};
//!
//! let Digits { features, labels } = digits();
//! let all = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;
//! let (stream, queries) = (all.slice(0..1500), all.slice(1500..1797));
//!
//! let mut model = Method::named("brook")?.start(Digits::DIM, 32, 1)?;
//! for start in (0..1500).step_by(250) {
//!     model.learn(stream.slice(start..start + 250))?;
//! }
//!
//! let function = model.hash_function();
//! let found = evaluate(
//!     &function.encode(queries.features())?,
//!     queries.labels().unwrap(),
//!     &function.encode(stream.features())?,
//!     stream.labels().unwrap(),
//!     Metric::DEFAULT,
//! )?;
//! let map = found.get(Metric::Map);
//! assert!(map > 0.9, "mAP of {map:.3}");
//! # Ok::<(), hashbrook::Error>(())
//! ```
//!
//! # Search
//!
//! An [`Index`] stores codes under your own ids, optionally with labels to filter by. It lives in
//! memory or in a file that several processes share. Its results are exact and complete, in order
//! of distance and id:
//!
//! ```
//! use hashbrook::dataset::{Digits, digits};
//! use hashbrook::{Batch, Features, Filter, Index, Labels, Method};
//!
//! let Digits { features, labels } = digits();
//! let all = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;
//! let mut model = Method::named("brook")?.start(Digits::DIM, 64, 1)?;
//! model.learn(all.slice(0..1500))?;
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("digits.index");
//! let mut index = Index::new(model.hash_function());
//! let ids: Vec<u64> = (0..1500).collect();
//! index.add(&ids, all.slice(0..1500).features(), all.slice(0..1500).labels())?;
//! index.save(&path)?;
//!
//! // Elsewhere, and in as many processes as you like:
//! let index = Index::open(&path)?;
//! let query = all.slice(1600..1601).features();
//! let nearest = index.search(query, 10)?;
//! assert_eq!(nearest.row(0).len(), 10);
//! let near_sevens = index.filtered(&Filter::all().labels(&[7])).within(query, 8)?;
//! # let _ = near_sevens;
//!
//! // Changes are in the file when the call returns.
//! let mut index = Index::edit(&path)?;
//! index.remove(&[3, 4])?;
//! assert_eq!(index.len(), 1498);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Codes are short, and many items may share one code. An index that also stores the vectors, in
//! half precision or 8 bits, can re-rank the hits of a code search by their cosines. It can also
//! re-encode its items after the model has learned more:
//!
//! ```
//! use hashbrook::dataset::{Digits, digits};
//! use hashbrook::{Batch, Features, Index, Labels, Method, VectorFormat};
//!
//! let Digits { features, labels } = digits();
//! let all = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;
//! let mut model = Method::named("brook")?.start(Digits::DIM, 64, 1)?;
//! model.learn(all.slice(0..1000))?;
//! model.end_warmup()?;
//!
//! let mut index = Index::with_vectors(model.hash_function(), VectorFormat::F16);
//! let ids: Vec<u64> = (0..1500).collect();
//! index.add(&ids, all.slice(0..1500).features(), all.slice(0..1500).labels())?;
//!
//! // The ten of the largest cosine among the 200 nearest by code.
//! let query = all.slice(7..8).features();
//! let found = index.rerank(200).search(query, 10)?;
//! assert_eq!(found.row(0)[0].id, 7);
//! assert!(found.row(0)[0].score > 0.999);
//!
//! model.learn(all.slice(1000..1500))?;
//! index.renew_kept(model.hash_function())?;
//! # Ok::<(), hashbrook::Error>(())
//! ```
//!
//! The first bits of [`brook`]'s codes distinguish labels, and the last bits describe details of
//! the vectors. A [`Dial`] weights the two groups during a search:
//! `index.dial(Dial::new(4, 1)?).search(query, 10)?` ranks items of the query's kind first. With
//! [`Dial::float_query`], each bit counts according to how certain the query is of the bit.
//!
//! [`Features`], [`Labels`] and [`Batch`] are views of your own memory. Their constructors check
//! shape and finiteness, so no other code has to. A row may have several labels ([`Labels::sets`]):
//! two rows are similar when they share at least one label.
//!
//! # Files larger than memory
//!
//! [`dataset`] streams npy, npz, IDX, CSV, vecs and MATLAB files. [`Model`]s have their own file
//! format:
//!
//! ```
//! use hashbrook::dataset::{LabelNames, Reader, read_labels};
//! use hashbrook::{Batch, Method, Model};
//!
//! # let directory = tempfile::tempdir()?;
//! # let csv = directory.path().join("pets.csv").to_str().unwrap().to_owned();
//! # std::fs::write(&csv, "weight,height,kind\n4,25,cat\n30,60,dog\n5,23,cat\n35,55,dog\n")?;
//! # let path = directory.path().join("pets.model");
//! let mut reader = Reader::open(&format!("{csv}:weight,height"))?;
//! let mut model = Method::named("brook")?.start(reader.dim(), 16, 1)?;
//! let labels = read_labels(&format!("{csv}:kind"), model.label_names_mut())?;
//! let mut row = 0;
//! while let Some(features) = reader.next(2)? {
//!     let labels = labels.view().slice(row..row + features.len());
//!     row += features.len();
//!     model.learn(Batch::new(features, labels)?)?;
//! }
//! model.save(&path)?;
//! assert_eq!(Model::load(&path)?.seen(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Parameters and vector preparation
//!
//! ```
//! use hashbrook::{Center, Method, Setup};
//!
//! let mut method = Method::named("brook")?;
//! method.set("lift", "none")?; // codes linear in the vectors: less good, and much faster to make
//! let mut setup = Setup::default();
//! setup.center = Center::None;
//! setup.unit = false;
//! let model = method.start_with(784, 64, 1, setup)?;
//! # Ok::<(), hashbrook::Error>(())
//! ```
//!
//! With default settings, a model centres vectors on the mean of the first rows (1,000; brook:
//! 3,000) and scales them to unit length. It buffers these rows until it has all of them, and then
//! learns them in the batches in which they arrived. A function requested earlier is learned from
//! the buffered rows alone. If columns have different scales (metres next to years), use
//! [`Scale::Standard`]. It divides each column by its standard deviation in the first rows, so that
//! all columns have equal weight.
//!
//! # Hash functions without their model
//!
//! A model file holds the whole learning state, which may be large. To encode elsewhere, the
//! function is enough: its file is small, and also contains the names of the labels.
//!
//! ```
//! use hashbrook::dataset::{Digits, digits};
//! use hashbrook::{Batch, Features, HashFunction, Labels, Method};
//!
//! let Digits { features, labels } = digits();
//! let all = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;
//! let mut model = Method::named("bsodh")?.start(Digits::DIM, 32, 1)?;
//! model.learn(all)?;
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("digits.function");
//! model.hash_function().save(&path)?;
//!
//! // Elsewhere:
//! let function = HashFunction::load(&path)?;
//! let code: Vec<u64> = function.encode_one(all.features().row(0))?;
//! assert_eq!(code, model.hash_function().encode(all.features())?.code(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Searching while the index changes
//!
//! An [`Index`] is the writer. A [`Snapshot`] of an index can be read in any thread for as long as
//! the snapshot is held. Readers and the writer never wait for each other. A server publishes a new
//! snapshot after each change:
//!
//! ```
//! use std::sync::RwLock;
//!
//! use hashbrook::{Codes, Index};
//!
//! let mut index = Index::of_codes(8)?;
//! let latest = RwLock::new(index.snapshot());
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         // Whoever answers queries takes the latest and lets go of the lock at once.
//!         let snapshot = latest.read().expect("no writer panics").clone();
//!         let query = Codes::from_bytes(8, &[0b0011])?;
//!         snapshot.search_codes(&query, 10)
//!     });
//!     index.add_codes(&[1], &Codes::from_bytes(8, &[0b0001])?, None)?;
//!     *latest.write().expect("no reader panics") = index.snapshot();
//!     Ok::<(), hashbrook::Error>(())
//! })?;
//! # Ok::<(), hashbrook::Error>(())
//! ```
//!
//! [`Index::edit`] changes an index file; each change is durable when the call returns. Another
//! process that has [opened](Index::open) the same file can [follow](Index::refresh) its changes.
//! [`IndexBuilder`] builds files with more items than fit in memory. [`Error::kind`] classifies
//! failures, so that a server can choose its response.
//!
//! # A collection that learns while it serves
//!
//! [`Store`] combines all of this in a directory. It stores vectors, labels and payloads durably,
//! learns from the inserted items, and re-encodes all items when that pays off. It remains
//! searchable all the time. `hashbrook serve` serves a store over HTTP. See [`store`] for the
//! details.
//!
//! # Learning in parts, and forgetting
//!
//! [`brook`] stores exact sums. Therefore models that learned parts of a stream can be
//! [merged](Model::merge), and rows can be [unlearned](Model::unlearn) without a trace or
//! [relabelled](Model::relabel). Rows can also lose weight as they age (`half_life`).
//!
//! ```
//! use hashbrook::dataset::{Digits, digits};
//! use hashbrook::{Batch, Features, Labels, Method};
//!
//! let Digits { features, labels } = digits();
//! let all = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;
//! let mut model = Method::named("brook")?.start(Digits::DIM, 32, 1)?;
//! model.learn(all.slice(0..1000))?;
//! model.end_warmup()?;
//! let before = model.hash_function();
//! model.learn(all.slice(1000..1797))?;
//! model.unlearn(all.slice(1000..1797))?;
//! assert_eq!(model.hash_function().parts(), before.parts());
//! # Ok::<(), hashbrook::Error>(())
//! ```
//!
//! # Guarantees
//!
//! * The same seed and the same stream give the same bits for any number of threads.
//! * A vector has the same code whether it is encoded alone or among millions.
//! * A batch that fails leaves the model unchanged.
//! * A file is written completely or not at all.
//!
//! # Extension points
//!
//! [`Learner`] is the trait to implement for a new method, and [`check`] tests its contract.
//! [`learners`] has a page on each built-in method. [`protocol`] runs the experiments of the
//! papers, and further ones. [`HashParts`] exposes the parts of a hash function.
//!
//! [`brook`]: learners::brook

// Code that cannot fail uses `expect` with a reason.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

/// Doctests of the README and the guide, which are not part of this documentation.
#[cfg(doctest)]
mod texts {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/install.md")]
    struct Install;
    #[doc = include_str!("../docs/re-ranking.md")]
    struct RankingAgain;
    #[doc = include_str!("../docs/streaming.md")]
    struct Streaming;
    #[doc = include_str!("../docs/tutorial.md")]
    struct Tutorial;
}

pub mod advice;
mod background;
mod batch;
pub mod check;
mod codes;
pub mod dataset;
mod disk;
mod error;
pub mod eval;
pub mod file;
mod hash;
mod id_names;
mod index;
mod kernel;
mod labels;
mod learner;
pub mod learners;
mod linalg;
mod mean;
mod memory;
mod method;
mod model;
pub mod protocol;
mod similarity;
pub mod store;
mod tensors;

pub use batch::{Batch, Features, Labels};
pub use codes::{Codes, MAX_BITS, hamming};
pub use error::{Error, ErrorKind, Result};
pub use hash::dial::{Dial, Weighed};
pub use hash::{Compact, HashFunction, HashParts, Lift};
pub use id_names::IdNames;
pub use index::{
    Filter, Hit, Hits, Index, IndexBuilder, Item, RankedHit, Reranked, SearchStructure, Snapshot,
    Statistics, View,
};
pub use kernel::{Kernel, VectorFormat, VectorMetric};
pub use labels::{LabelList, LabelNames};
pub use learner::{Learner, Step};
pub use mean::{Mean, Spread};
pub use method::Method;
pub use model::{Center, Model, Scale, Setup};
pub use store::Store;
pub use tensors::FileKind;
