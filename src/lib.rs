//! hashbrook learns compact binary codes from a stream of labelled vectors. Vectors that share a
//! label get codes that differ in few bits, so that similar items are found by Hamming distance: in
//! little memory, in little time.
//!
//! ```text
//! Method  ->  Model  ->  HashFunction  ->  Codes  ->  Index
//! recipe      running    frozen            packed     searchable
//!             learner    x -> bits         bits
//! ```
//!
//! * A [`Method`] is a way of learning with its parameters: this library's own, [`brook`], or a
//!   published one.
//! * A [`Model`] is a method at work: it learns batch after batch, and can be saved and taken up
//!   again at any time.
//! * A [`HashFunction`] is what a model has learned so far, frozen. Everything done to a vector on
//!   its way to a code is in it.
//! * [`Codes`] are what comes out, 64 bits to a word.
//! * An [`Index`] holds ids with their codes, and finds the nearest: exactly, and very fast.
//!
//! A sixth, [`Store`], is a durable collection that does all of this by itself.
//!
//! # Learn, encode, measure
//!
//! The library carries 1,797 handwritten digits to try things on:
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
//! An [`Index`] keeps codes under ids of your own, with labels to filter by if you like, in memory or
//! in a file that processes share. What it finds is exact and complete, in order of distance and id:
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
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("digits.index");
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
//! Codes are short, and many items may have the same. An index that keeps the vectors too, in half
//! precision or 8 bits, ranks by their cosines what the codes have found, and can encode its items anew once
//! the model has learned on:
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
//! Codes of [`brook`] tell labels by their first bits, and what items look like by the last. A [`Dial`] weighs
//! the two when they are searched: `index.dial(Dial::new(4, 1)?).search(query, 10)?` finds items of the query's
//! kind first, and [`Dial::float_query`] lets each bit count as much as the query is sure of it.
//!
//! [`Features`], [`Labels`] and [`Batch`] are views of your own memory. They check shape and
//! finiteness when they are made; nothing else needs to. A row may have several labels
//! ([`Labels::sets`]): rows are similar when they share at least one.
//!
//! # Files, larger than memory if need be
//!
//! [`dataset`] streams npy, npz, IDX, CSV, vecs and MATLAB files, and [`Model`]s are kept in files
//! of their own:
//!
//! ```
//! use hashbrook::dataset::{LabelNames, Reader, read_labels};
//! use hashbrook::{Batch, Method, Model};
//!
//! # let folder = tempfile::tempdir()?;
//! # let csv = folder.path().join("pets.csv").to_str().unwrap().to_owned();
//! # std::fs::write(&csv, "weight,height,kind\n4,25,cat\n30,60,dog\n5,23,cat\n35,55,dog\n")?;
//! # let path = folder.path().join("pets.model");
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
//! # Choosing parameters, and how vectors are prepared
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
//! Unless told otherwise a model centres vectors on the mean of the first rows (1,000; brook: 3,000)
//! and scales them to unit length. It holds those rows back until it has them all, and then learns
//! them in the batches they came in; a function that is asked for before is what these rows alone
//! teach. Where columns are of different scale (metres beside years), [`Scale::Standard`] divides each
//! by its deviation in the first rows, so that all count alike.
//!
//! # The function alone
//!
//! A model file holds all it takes to learn on, which may be much. To encode elsewhere, the function
//! is enough: its file is small, and knows the names of the labels too.
//!
//! ```
//! use hashbrook::dataset::{Digits, digits};
//! use hashbrook::{Batch, Features, HashFunction, Labels, Method};
//!
//! let Digits { features, labels } = digits();
//! let all = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;
//! let mut model = Method::named("bsodh")?.start(Digits::DIM, 32, 1)?;
//! model.learn(all)?;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("digits.function");
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
//! An [`Index`] writes. A [`Snapshot`] of it reads, in any thread, for as long as it is held; neither waits
//! for the other. A server publishes one after each change:
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
//! [`Index::edit`] does the same to a file, where a change is on the disk when the call returns; another
//! process that has [opened](Index::open) it [follows](Index::refresh). [`IndexBuilder`] makes files of more
//! items than fit in memory, and [`Error::kind`] tells a server what to answer when something fails.
//!
//! # A collection that learns while it serves
//!
//! [`Store`] ties all of this together in a folder: it keeps vectors, labels and payloads durably, learns from what is
//! put in, makes the codes of all items anew when that pays, and is searched meanwhile. `hashbrook serve` puts it behind
//! HTTP. [`store`] has the details.
//!
//! # Learning in parts, and forgetting
//!
//! [`brook`] keeps what it learns as exact sums. So models that learned parts of a stream can be
//! [merged](Model::merge), rows can be [unlearned](Model::unlearn) as if they had never come, and
//! [relabelled](Model::relabel); and rows can count less as they age (`half_life`).
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
//! # What does not change
//!
//! * The same seed and the same stream give the same bits, whatever the number of threads.
//! * A vector has the same code alone and among millions.
//! * A batch that fails leaves the model as it was.
//! * Files are written whole or not at all.
//!
//! # What most people may ignore
//!
//! [`Learner`] is the trait that methods implement, for those who write one of their own, and
//! [`check`] the contract that it should keep. [`learners`] has a page on each method of the
//! library. [`protocol`] runs experiments as the papers do, and beyond. [`HashParts`] takes a hash function
//! apart.
//!
//! [`brook`]: learners::brook

// What cannot fail says why, by `expect`.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

/// The examples of the texts that are not part of this documentation.
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
