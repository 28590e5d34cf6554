//! Properties of the public types: use by several threads, paths of any kind, and printing.

use hashbrook::dataset::Reader;
use hashbrook::eval::{Evaluation, Metric, parts};
use hashbrook::{
    Batch, Center, Codes, Error, Features, FileKind, Filter, HashFunction, HashParts, Hit, Hits,
    Index, Item, Kernel, LabelList, LabelNames, Labels, Lift, Mean, Method, Model, RankedHit,
    Reranked, Scale, Setup, Snapshot, Spread, Statistics, Step, VectorFormat, View,
};
use serde_json::json;

#[test]
fn everything_can_be_sent_to_and_shared_by_threads() {
    fn both<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    both::<Batch<'_>>();
    both::<Codes>();
    both::<Error>();
    both::<Evaluation>();
    both::<Features<'_>>();
    both::<FileKind>();
    both::<Filter>();
    both::<HashFunction>();
    both::<HashParts>();
    both::<Hit>();
    both::<Hits>();
    both::<Index>();
    both::<Item>();
    both::<Kernel>();
    both::<LabelList>();
    both::<LabelNames>();
    both::<Labels<'_>>();
    both::<Lift>();
    both::<Mean>();
    both::<Method>();
    both::<Metric>();
    both::<parts::Queries<'_>>();
    both::<parts::Ranks>();
    both::<parts::Tally>();
    both::<Model>();
    both::<Hits<RankedHit>>();
    both::<Reranked<'_>>();
    both::<Snapshot>();
    both::<View<'_>>();
    both::<Setup>();
    both::<Spread>();
    both::<Statistics>();
    both::<Step>();
    sent::<Reader>();
}

#[test]
fn paths_may_be_of_any_kind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m");
    let text: &str = path.to_str().unwrap();
    let model = Method::named("lsh").unwrap().start(2, 8, 1).unwrap();
    model.save(text).unwrap();
    model.save(path.as_os_str()).unwrap();
    model.save(&path).unwrap();
    Model::load(text).unwrap();
    Model::load(path.clone()).unwrap();
    Model::from_bytes(&model.to_bytes(), "m").unwrap();
    let function = model.hash_function();
    function.save(text).unwrap();
    HashFunction::load(text).unwrap();
    Index::new(function).save(text).unwrap();
    assert!(Index::open(text).unwrap().is_empty());
    assert!(Index::edit(&path).unwrap().is_empty());
    assert_eq!(FileKind::of(text).unwrap(), FileKind::Index);
}

#[test]
fn everything_is_printed_and_results_are_serialised() {
    let mut index = Index::of_codes(8).unwrap();
    let codes = Codes::from_bytes(8, &[0, 1]).unwrap();
    index.add_codes(&[7, 9], &codes, Some(Labels::single(&[0, 1]))).unwrap();
    let printed = format!("{index:?}");
    assert_eq!(printed, "Index { items: 2, bits: 8, dim: None, labels: 0, .. }");
    let found = index.search_codes(&codes, 1).unwrap();
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        json!([[{ "distance": 0, "id": 7 }], [{ "distance": 0, "id": 9 }]])
    );
    assert_eq!(found.row(1)[0], Hit::new(9, 0));
    let within = |radius| index.within_codes(&codes, radius).unwrap();
    let mut found = Hits::default();
    assert_eq!((found.len(), found.is_empty(), found.offsets()), (0, true, &[0][..]));
    found.append(within(1));
    found.append(index.filtered(&Filter::all().ids(&[])).within_codes(&codes, 1).unwrap());
    found.append(within(0));
    assert_eq!((found.len(), found.offsets()), (6, &[0, 2, 4, 4, 4, 5, 6][..]));
    let cut = found.offsets().windows(2).map(|ends| &found.all()[ends[0]..ends[1]]);
    assert!(cut.eq(found.iter()));
    let item = index.get(9).unwrap();
    assert_eq!(serde_json::to_value(item).unwrap(), json!({ "code": [1], "labels": [1] }));
    let mut setup = Setup::default();
    setup.center = Center::Given(vec![0.5]);
    setup.scale = Scale::Standard;
    assert_eq!(
        serde_json::to_value(&setup).unwrap(),
        json!({
            "center": { "given": [0.5] }, "scale": "standard", "unit": true, "warmup": null,
            "init": null
        })
    );
    assert_eq!(
        serde_json::to_value([Metric::Map, Metric::PrecisionWithin(2)]).unwrap(),
        json!(["mAP", "precision_radius_2"])
    );
    let ranked = RankedHit::new(7, 0.5, 3);
    let expected = json!({ "id": 7, "score": 0.5, "distance": 3 });
    assert_eq!(serde_json::to_value(ranked).unwrap(), expected);
    assert_eq!(serde_json::to_value(VectorFormat::I8).unwrap(), json!("i8"));
    assert_eq!(serde_json::to_value(Kernel::Portable).unwrap(), json!("portable"));
    assert_eq!(serde_json::to_value(Lift::Identity).unwrap(), json!("identity"));
    assert_eq!(serde_json::to_value(FileKind::Function).unwrap(), json!("function"));
}
