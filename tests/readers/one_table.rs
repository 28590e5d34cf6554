//! Features, labels and ids that are columns of one table.

use std::fs::File;
use std::sync::Arc;

use arrow_array::types::{Float64Type, Int8Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float32Array, Float64Array, Int64Array, RecordBatch,
    StringArray,
};
use hashbrook::dataset::{Data, LabelNames, Reader, read_labels, without_columns};
use parquet::arrow::ArrowWriter;

use crate::support::{Files, features, features_error, fixture, single_labels};

/// Writes the same table as CSV and Parquet: an id, a label between two features, and a column name
/// with a comma.
fn tables(files: &Files) -> [String; 2] {
    let numbers = |values: [f32; 2]| -> ArrayRef { Arc::new(Float32Array::from(values.to_vec())) };
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(StringArray::from(vec!["a1", "a2"]))),
        ("px0", numbers([1.0, 2.0])),
        ("target", Arc::new(Int64Array::from(vec![7, 8]))),
        ("px1", numbers([3.0, 4.0])),
        ("x,y", numbers([5.0, 6.0])),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let parquet = files.write("t.parquet", "");
    let file = File::create(&parquet).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let csv = "id,px0,target,px1,\"x,y\"\na1,1,7,3,5\na2,2,8,4,6\n";
    [files.write("t.csv", csv), parquet]
}

#[test]
fn columns_are_picked_by_ranges_of_names_and_by_exclusion() {
    let files = Files::new();
    for table in tables(&files) {
        for (columns, expected) in [
            ("px0..px1", vec![1.0, 7.0, 3.0, 2.0, 8.0, 4.0]),
            ("px0..px1,!target", vec![1.0, 3.0, 2.0, 4.0]),
            ("!id,!target", vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]),
            ("!0,!2-3", vec![1.0, 5.0, 2.0, 6.0]),
            ("!id..target", vec![3.0, 5.0, 4.0, 6.0]),
            ("px1..4", vec![3.0, 5.0, 4.0, 6.0]),
        ] {
            let (_, found) = features(&format!("{table}:{columns}")).unwrap();
            assert_eq!(found, expected, "{table}:{columns}");
        }
        for (columns, problem) in [
            ("px1..px0", "columns px1..px0 are in the wrong order"),
            ("px0..px9", "has no column \"px9\""),
            ("!px9", "has no column \"px9\""),
            ("!0--1", "has no columns beside those that are excluded"),
            ("!target", "has columns that are no numbers: id"),
        ] {
            let error = features_error(&format!("{table}:{columns}"));
            assert!(error.contains(problem), "{table}:{columns}: {error}");
        }
        // Labels are read from the remaining columns.
        assert_eq!(single_labels(&format!("{table}:!id..px0,!px1..-1")), ["7", "8"]);
    }
}

#[test]
fn columns_that_are_read_for_something_else_are_no_features() {
    let files = Files::new();
    for table in tables(&files) {
        let without = |data: &str, others: &[&str]| {
            let name = |part: &&str| format!("{table}{part}");
            let others: Vec<String> = others.iter().map(name).collect();
            let data = without_columns(&[format!("{table}{data}")], &others);
            data.map(|data| data[0].strip_prefix(&table).unwrap().to_owned())
        };
        assert_eq!(without("", &[":target", ":id"]).unwrap(), ":!target,!id");
        assert_eq!(without(":!id", &[":target", ":id"]).unwrap(), ":!id,!target");
        assert_eq!(without(":px0,px1", &[":target"]).unwrap(), ":px0,px1", "picked as they are");
        assert_eq!(without("", &[":id,target"]).unwrap(), ":!id,!target");
        assert_eq!(without("", &[":!px0,!px1"]).unwrap(), ":px0,px1", "all others are labels");
        assert_eq!(without("", &[]).unwrap(), "");
        let error = without("", &[""]).unwrap_err().to_string();
        assert!(error.contains("for features and for something else; name the columns"), "{error}");
        let data = Data::load(&[format!("{table}:!id")], &[format!("{table}:target")]).unwrap();
        assert_eq!((data.dim(), data.label_names().unwrap().name(0)), (3, Some("7")));
    }
    let parquet = &tables(&files)[1];
    let others = [format!("{parquet}:x,y"), format!("{parquet}:id")];
    let found = without_columns(std::slice::from_ref(parquet), &others).unwrap();
    assert_eq!(found, [format!("{parquet}:!4,!id")], "a name with a comma is one column");
    // Arrays have no columns to exclude, and a column of vectors needs no exclusion.
    let (array, vectors) = (fixture("f4_version2.npy"), fixture("pandas.parquet"));
    for file in [array, vectors] {
        assert_eq!(without_columns(&[&file], &[&file]).unwrap(), [file]);
    }
}

#[test]
fn a_reader_says_which_columns_it_reads() {
    let files = Files::new();
    for table in tables(&files) {
        let reader = Reader::open(&format!("{table}:!id")).unwrap();
        let columns = &reader.columns()[0];
        assert_eq!(columns.to_string(), "4 features px0, target, px1, x,y");
        assert!(columns.is_chosen && columns.header_remark.is_none());
        let reader = Reader::open(&format!("{table}:px0")).unwrap();
        let columns = &reader.columns()[0];
        assert!(columns.to_string() == "features px0" && !columns.is_chosen);
    }
    let wide = files.write("wide.csv", ",a,b,c,d,e\n0,1,2,3,4,5\n");
    let reader = Reader::open(&wide).unwrap();
    assert_eq!(reader.columns()[0].to_string(), "5 features a … e");
    assert_eq!(reader.columns()[0].omitted.as_deref(), Some("column 0, which has no name"));
    assert_eq!(reader.columns()[0].header_remark.as_ref(), reader.remarks().first());
}

#[test]
fn integer_labels_with_gaps_are_the_same_in_csv_and_parquet() {
    let files = Files::new();
    // `DataFrame.to_csv` and `to_parquet` write this for a column of integers with a missing value.
    let csv = files.write("t.csv", "px0,target\n1,3.0\n2,\n3,3.0\n4,12.0\n") + ":target";
    let given = [Some(3.0), None, Some(3.0), Some(12.0)];
    let nan = given.map(|label| label.unwrap_or(f64::NAN));
    let keys = arrow_array::PrimitiveArray::<Int8Type>::from(vec![0, 1, 0, 2]);
    let values = Float64Array::from(vec![3.0, f64::NAN, 12.0]);
    let columns: [ArrayRef; 5] = [
        Arc::new(Float64Array::from(given.to_vec())),
        Arc::new(Float64Array::from(nan.to_vec())),
        Arc::new(Float32Array::from(nan.map(|label| label as f32).to_vec())),
        Arc::new(Int64Array::from(given.map(|label| label.map(|label| label as i64)).to_vec())),
        Arc::new(DictionaryArray::new(keys, Arc::new(values))),
    ];
    let mut names = LabelNames::new();
    let expected = read_labels(&csv, &mut names).unwrap();
    assert_eq!(names.iter().collect::<Vec<_>>(), ["3", "12"]);
    for column in columns {
        let kind = column.data_type().clone();
        let batch = RecordBatch::try_from_iter([("target", column)]).unwrap();
        let parquet = files.write("t.parquet", "");
        let file = File::create(&parquet).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let found = read_labels(&format!("{parquet}:target"), &mut names).unwrap();
        assert_eq!(found, expected, "{kind}");
        assert_eq!(names.len(), 2, "{kind}");
    }
}

#[test]
fn lists_of_labels_skip_nan() {
    let files = Files::new();
    let rows = [Some(vec![Some(3.0), Some(f64::NAN)]), None, Some(vec![Some(f64::NAN)])];
    let column: ArrayRef =
        Arc::new(arrow_array::ListArray::from_iter_primitive::<Float64Type, _, _>(rows));
    let batch = RecordBatch::try_from_iter([("tags", column)]).unwrap();
    let parquet = files.write("t.parquet", "");
    let mut writer =
        ArrowWriter::try_new(File::create(&parquet).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let (_, rows) = crate::support::labels(&format!("{parquet}:tags")).unwrap();
    assert_eq!(rows, [vec!["3"], vec![], vec![]]);
}
