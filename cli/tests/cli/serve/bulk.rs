//! Bulk inserts: npy and Arrow bodies.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field};
use hashbrook::dataset::NpyWriter;
use serde_json::json;

use super::server::Server;
use crate::support::Directory;

const NPY: [(&str, &str); 1] = [("content-type", "application/x-npy")];
const ARROW: [(&str, &str); 1] = [("content-type", "application/vnd.apache.arrow.stream")];

fn npy(directory: &Directory, values: &[f32], columns: usize) -> Vec<u8> {
    let path = directory.file("body.npy");
    let mut writer = NpyWriter::create(&path, Some(columns)).unwrap();
    writer.write(values).unwrap();
    writer.finish().unwrap();
    std::fs::read(path).unwrap()
}

fn stream(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn vectors(rows: usize) -> ArrayRef {
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let values = Float32Array::from((0..2 * rows).map(|at| at as f32).collect::<Vec<_>>());
    Arc::new(FixedSizeListArray::new(item, 2, Arc::new(values), None))
}

#[test]
fn npy_bodies_have_ids_and_labels_in_the_address() {
    let directory = Directory::new();
    let body = npy(&directory, &[1., 2., 3., 4., 5., 6.], 2);
    let server = Server::small(&directory);
    let put = |query: &str, body: &[u8]| server.send("POST", &format!("/items{query}"), &NPY, body);
    put("", &body).fails(422, &["first_id"]);
    assert_eq!(put("?first_id=1000&labels=cat,,dog", &body).ok()["items"], 3);
    let item = server.get("/items/1000").ok();
    assert_eq!((&item["vector"], &item["labels"]), (&json!([1.0, 2.0]), &json!(["cat"])));
    assert_eq!(server.get("/items/1001").ok()["labels"], json!([]));
    assert_eq!(put("?first_id=0&label=bird", &body).ok()["items"], 3);
    assert_eq!(server.get("/items/2").ok()["labels"], json!(["bird"]));
    put("?first_id=0&labels=cat,dog", &body).fails(422, &["3", "2"]);
    put("?first_id=0&labels=a,b,c&label=d", &body).fails(422, &["give one"]);
    put("?first_id=x", &body).fails(422, &[]);
    put("?first_id=18446744073709551615", &body).fails(422, &["too large"]);
    put("?first_id=0", b"nonsense").fails(422, &["npy"]);
    put("?first_id=0", &body[..body.len() - 1]).fails(422, &["the body"]);
    put("?first_id=0", &npy(&directory, &[1., 2., 3.], 3)).fails(422, &["3", "2"]);
    put("?first_id=0", &npy(&directory, &[f32::NAN, 2.], 2)).fails(422, &[]);
    server.post("/items?first_id=0", json!({"items": []})).fails(422, &["npy bodies"]);
}

#[test]
fn arrow_bodies_have_it_all_in_columns() {
    let directory = Directory::new();
    let server = Server::small(&directory);
    let put = |body: &[u8]| server.send("POST", "/items", &ARROW, body);
    let ids = || Arc::new(UInt64Array::from(vec![5, 6])) as ArrayRef;
    let texts = |texts: [Option<&str>; 2]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
    let columns = vec![
        ("id", ids()),
        ("vector", vectors(2)),
        ("label", texts([Some("a, b"), None])),
        ("payload", texts([None, Some("{\"x\": [1]}")])),
    ];
    let body = stream(columns);
    assert_eq!(put(&body).ok()["items"], 2);
    let (first, second) = (server.get("/items/5").ok(), server.get("/items/6").ok());
    assert_eq!((&first["labels"], &first["vector"]), (&json!(["a, b"]), &json!([0.0, 1.0])));
    assert_eq!((&second["labels"], &second["payload"]), (&json!([]), &json!({"x": [1]})));
    for end in (0..body.len()).step_by(7) {
        let status = put(&body[..end]).status;
        assert!([200, 422].contains(&status), "cut at {end}: {status}");
    }
    put(&stream(vec![("id", ids())])).fails(422, &["vector"]);
    put(&stream(vec![("vector", vectors(2))])).fails(422, &["id"]);
    put(&stream(vec![("id", ids()), ("vector", vectors(2)), ("x", ids())])).fails(422, &["\"x\""]);
    let bad = texts([Some("{"), None]);
    put(&stream(vec![("id", ids()), ("vector", vectors(2)), ("payload", bad)]))
        .fails(422, &["row 0"]);
    let twice = Arc::new(UInt64Array::from(vec![8, 8])) as ArrayRef;
    put(&stream(vec![("id", twice), ("vector", vectors(2))])).fails(422, &["8"]);
    let words = texts([Some("x"), Some("y")]);
    put(&stream(vec![("id", words), ("vector", vectors(2))])).fails(422, &[]);
    server.send("POST", "/search", &ARROW, &body).fails(415, &["JSON"]);
    let other = [("content-type", "image/png")];
    server.send("POST", "/items", &other, b"x").fails(415, &["image/png", "application/json"]);
}

#[test]
fn text_ids_of_arrow_bodies_stay_texts() {
    let directory = Directory::new();
    let server = Server::small(&directory);
    let ids = Arc::new(StringArray::from(vec!["5", "6"])) as ArrayRef;
    let body = stream(vec![("id", ids), ("vector", vectors(2))]);
    server.send("POST", "/items", &ARROW, &body).ok();
    assert_eq!(server.get("/items/5").ok()["id"], "5");
    server.send("POST", "/items", &ARROW, &body).ok();
    assert_eq!(server.get("/stats").ok()["items"], 2);
}
