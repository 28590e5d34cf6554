//! Parquet and Arrow files: files written by pyarrow, pandas and polars
//! (`tests/fixtures/make_columns.py`), and malformed files.

use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{
    FixedSizeBinaryBuilder, Float32Builder, Float64Builder, Int32Builder, ListBuilder,
    StringBuilder,
};
use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use hashbrook::Codes;
use hashbrook::LabelNames;
use hashbrook::dataset::{
    ArrowTable, CodesWriter, Reader, read_codes, read_id_texts, read_ids, read_labels_for,
    read_payloads, table_columns,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::support::{
    Files, drain, features, features_error, fixture, gz, labels, labels_error, single_labels,
};

const TABLES: [&str; 10] = [
    "none.parquet",
    "snappy.parquet",
    "zstd.parquet",
    "lz4.parquet",
    "gzip.parquet",
    "v2.parquet",
    "uncompressed.feather",
    "lz4.feather",
    "zstd.feather",
    "table.arrows",
];

const NAMES: [&str; 7] = ["cat", "dog", "", "žába", "cat", "a,b", "🐸"];

fn numbers() -> Vec<f32> {
    (0..21).map(|value| value as f32).collect()
}

fn halves() -> Vec<f32> {
    (0..21).map(|value| value as f32 / 2.0 - 3.0).collect()
}

/// Returns the label of each row, `""` for none.
fn labels_or_none(spec: &str) -> Vec<String> {
    let (_, rows) = labels(spec).unwrap();
    rows.into_iter().map(|row| row.concat()).collect()
}

#[test]
fn features_of_every_kind_and_codec() {
    for table in TABLES {
        let table = fixture(table);
        for column in ["x", "fixed", "half", "large"] {
            assert_eq!(features(&format!("{table}:{column}")).unwrap(), (3, halves()), "{table}");
        }
        assert_eq!(features(&format!("{table}:bytes")).unwrap(), (3, numbers()), "{table}");
        assert!(Reader::open(&format!("{table}:bytes")).unwrap().is_u8());
        assert!(!Reader::open(&format!("{table}:x")).unwrap().is_u8());
        // Columns are selected by name, by number and in ranges, and joined in the order in which
        // they are named.
        let (dim, values) = features(&format!("{table}:b,x,6")).unwrap();
        assert_eq!((dim, &values[..5]), (5, &[-2.5, -3.0, -2.5, -2.0, 0.0][..]), "{table}");
        assert_eq!(
            features(&format!("{table}:a,b")).unwrap(),
            features(&format!("{table}:6-7")).unwrap()
        );
        for max_rows in [1, 2, 3, 5] {
            let reader = Reader::open(&format!("{table}:x")).unwrap();
            assert_eq!(drain(reader, max_rows).unwrap(), (3, halves()), "{table}");
        }
    }
}

#[test]
fn labels_and_ids_of_every_kind() {
    for table in TABLES {
        let table = fixture(table);
        for column in ["label", "name"] {
            assert_eq!(labels_or_none(&format!("{table}:{column}")), NAMES, "{table}:{column}");
        }
        let numbers = ["5", "-1", "7", "5", "0", "-1", "7"];
        assert_eq!(single_labels(&format!("{table}:number")), numbers);
        let (sets, tags) = labels(&format!("{table}:tags")).unwrap();
        let expected = [&["a"][..], &["a", "b"], &[], &["c"], &[], &["b"], &["a"]];
        assert!(sets && tags == expected, "{tags:?}");
        // Lists without a declared fixed length are sets of labels.
        if !table.ends_with("v2.parquet") {
            let (_, sets) = labels(&format!("{table}:sets")).unwrap();
            assert_eq!(
                (&sets[0][..], &sets[2][..]),
                (&["1".to_owned()][..], &["0".into(), "2".into()][..])
            );
        }
        assert_eq!(read_ids(&format!("{table}:id")).unwrap(), (100..107).collect::<Vec<_>>());
        let error = read_ids(&format!("{table}:number")).unwrap_err().to_string();
        assert!(error.contains("row 1 is \"-1\"; ids must be whole"), "{error}");
    }
}

#[test]
fn files_of_pandas_and_polars() {
    for table in ["pandas.parquet", "polars.parquet", "polars.arrow"] {
        let table = fixture(table);
        // The only column of lists contains the features.
        assert_eq!(features(&table).unwrap(), (3, halves()), "{table}");
        assert_eq!(labels_or_none(&format!("{table}:label")), NAMES, "{table}");
    }
    assert_eq!(labels_or_none(&fixture("pandas.parquet")), NAMES, "the only column of labels");
}

#[test]
fn packed_files_and_several_of_them() {
    let files = Files::new();
    for name in ["none.parquet", "lz4.feather", "table.arrows"] {
        let packed = files.write("packed.gz", gz(&std::fs::read(fixture(name)).unwrap()));
        assert_eq!(features(&format!("{packed}:x")).unwrap(), (3, halves()), "{name}");
    }
    let both = [fixture("zstd.parquet:x"), fixture("table.arrows:fixed")];
    let (_, values) = drain(Reader::open_all(&both).unwrap(), 5).unwrap();
    assert_eq!(values, [halves(), halves()].concat());
    assert_eq!(Reader::open(&fixture("zstd.parquet:x")).unwrap().rows(), Some(7));
    let mut stream = Reader::open(&fixture("table.arrows:x")).unwrap();
    assert_eq!((stream.rows(), stream.count_rows().unwrap()), (None, 7));
}

#[test]
fn what_is_not_read_is_named() {
    let table = fixture("snappy.parquet");
    let error = |column: &str| features_error(&format!("{table}:{column}"));
    assert!(error("nothing").contains("has no column \"nothing\"; it has id (int64), x (lists of"));
    assert!(error("99").contains("it has 15 columns, 0 to 14"));
    assert!(error("name").contains("row 0, column \"name\" is of the type text"));
    assert!(error("struct").contains("is of the type struct"), "{}", error("struct"));
    assert!(error("struct.inner").contains("has no column \"struct.inner\""));
    assert!(error("tags").contains("is of the type lists of text"));
    assert!(features_error(&table).contains("exactly one column of lists of numbers"));
    assert!(features_error(&fixture("empty.parquet:x")).contains("has no rows"));
    assert!(labels_error(&format!("{table}:b")).contains("row 0, column \"b\" is -2.5"));
    assert!(labels_error(&format!("{table}:when")).contains("is of the type Timestamp"));
    assert!(labels_error(&format!("{table}:bytes")).contains("has 2 at place 2"));
    let error = read_codes(&format!("{table}:name"), None).unwrap_err().to_string();
    assert!(error.contains("name is text; packed codes are"), "{error}");
}

#[test]
fn codes_may_be_bytes_of_any_length_if_all_have_one() {
    let files = Files::new();
    let bytes: Vec<u8> = (0..300).map(|at| (at * 7 % 251) as u8).collect();
    let column = |rows: Vec<Option<&[u8]>>| Arc::new(BinaryArray::from(rows)) as ArrayRef;
    let rows: Vec<Option<&[u8]>> = bytes.chunks(3).map(Some).collect();
    for spec in write(&files, vec![("code", column(rows.clone()))]) {
        // A column of bytes may hold anything, so the user must name the column of codes.
        assert!(
            read_codes(&spec, None).unwrap_err().to_string().contains("pick it as FILE:COLUMN")
        );
        let codes = read_codes(&format!("{spec}:code"), None).unwrap();
        assert_eq!(codes, Codes::from_bytes(24, &bytes).unwrap());
    }
    for (row, value, expected) in [
        (57, Some(&bytes[..2]), "row 57, column \"code\" has 2 bytes, and the first code has 3"),
        (57, None, "row 57, column \"code\" is null"),
        (0, None, "row 0, column \"code\" is null"),
    ] {
        let mut rows = rows.clone();
        rows[row] = value;
        for spec in write(&files, vec![("code", column(rows))]) {
            let error = read_codes(&format!("{spec}:code"), None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
    for spec in write(&files, vec![("code", column(Vec::new()))]) {
        let error = read_codes(&format!("{spec}:code"), None).unwrap_err().to_string();
        assert!(error.contains("nothing tells how long they are"), "{error}");
    }
}

/// Writes a batch in each format, and returns the paths.
fn write(files: &Files, columns: Vec<(&str, ArrayRef)>) -> Vec<String> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let path = |name: &str| files.path(name).to_str().unwrap().to_owned();
    let names = [path("made.parquet"), path("made.feather"), path("made.arrows")];
    let create = |at: usize| File::create(&names[at]).unwrap();
    let mut parquet = ArrowWriter::try_new(create(0), batch.schema(), None).unwrap();
    parquet.write(&batch).unwrap();
    parquet.close().unwrap();
    let mut file = FileWriter::try_new(create(1), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    file.finish().unwrap();
    let mut stream = StreamWriter::try_new(create(2), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    stream.finish().unwrap();
    names.to_vec()
}

fn lists(rows: &[Option<&[Option<f32>]>]) -> ArrayRef {
    let mut lists = ListBuilder::new(Float32Builder::new());
    for row in rows {
        match row {
            Some(row) => lists.append_value(row.iter().copied()),
            None => lists.append_null(),
        }
    }
    Arc::new(lists.finish())
}

#[test]
fn mistakes_are_named_with_file_column_and_row() {
    let files = Files::new();
    let row: &[Option<f32>] = &[Some(1.0), Some(2.0)];
    let cases: [(ArrayRef, &str); 7] = [
        (lists(&[Some(row), None]), "row 1, column \"x\" is null"),
        (lists(&[None, Some(row)]), "row 0, column \"x\" is null"),
        (
            lists(&[Some(row), Some(&row[..1])]),
            "row 1, column \"x\" has 1 numbers, the first row has 2",
        ),
        (lists(&[Some(row), Some(&[])]), "row 1, column \"x\" has 0 numbers"),
        (lists(&[Some(&[]), Some(row)]), "row 0, column \"x\" is an empty list"),
        (
            lists(&[Some(row), Some(&[Some(3.0), None])]),
            "row 1, column \"x\" has at place 1 what is null",
        ),
        (lists(&[Some(row), Some(&[Some(3.0), Some(f32::NAN)])]), "row 1, column 1 is NaN"),
    ];
    for (column, expected) in cases {
        for file in write(&files, vec![("x", column.clone())]) {
            let error = features_error(&format!("{file}:x"));
            assert!(error.contains(expected) && error.contains("made."), "{error}");
        }
    }
    let mut wide = Float64Builder::new();
    wide.append_slice(&[1.0, -1e300]);
    let mut holes = Int32Builder::new();
    holes.append_option(Some(3));
    holes.append_option(None);
    let columns: Vec<(&str, ArrayRef)> =
        vec![("wide", Arc::new(wide.finish())), ("holes", Arc::new(holes.finish()))];
    for file in write(&files, columns) {
        let error = features_error(&format!("{file}:wide"));
        assert!(error.contains("row 1, column \"wide\" is -1e300, which is too large"), "{error}");
        let error = features_error(&format!("{file}:holes"));
        assert!(error.contains("row 1, column \"holes\" is null"), "{error}");
        let error = read_ids(&format!("{file}:holes")).unwrap_err().to_string();
        assert!(
            error.contains("row 1, column \"holes\" is null; every row needs an id"),
            "{error}"
        );
        assert_eq!(labels_or_none(&format!("{file}:holes")), ["3", ""]);
    }
}

#[test]
fn files_that_are_cut_off_are_refused_wherever_that_is() {
    let files = Files::new();
    for name in ["snappy.parquet", "lz4.feather", "polars.arrow"] {
        let whole = std::fs::read(fixture(name)).unwrap();
        for part in 1..8 {
            let cut = files.write(name, &whole[..whole.len() * part / 8]);
            let error = features_error(&format!("{cut}:x"));
            assert!(error.contains("cut off") || error.contains("ends"), "{name} {part}: {error}");
        }
    }
    // A stream may end after any message, but not within one.
    let whole = std::fs::read(fixture("table.arrows")).unwrap();
    let mut refused = 0;
    for end in (8..whole.len()).step_by(64) {
        let cut = files.write("cut.arrows", &whole[..end]);
        refused += usize::from(features(&format!("{cut}:x")).is_err());
    }
    assert!(refused * 64 > whole.len() / 2, "{refused}");
}

/// Returns the result of reading or the error message, without the name of the file.
fn told<T: std::fmt::Debug>(read: hashbrook::Result<T>, name: &str) -> Result<String, String> {
    read.map(|read| format!("{read:?}")).map_err(|error| error.to_string().replace(name, "NAME"))
}

#[test]
fn a_stream_in_memory_gives_what_its_file_gives() {
    let name = fixture("table.arrows");
    let bytes = std::fs::read(&name).unwrap();
    let table = ArrowTable::read("the body", std::io::Cursor::new(bytes), 0).unwrap();
    assert_eq!(table.rows(), 7);
    assert_eq!(Some(table.columns()), table_columns(&name).unwrap());
    let (mut same, mut wrong) = (0, 0);
    for (column, _) in table.columns() {
        let spec = format!("{name}:{column}");
        let (mut names, mut others) = (LabelNames::new(), LabelNames::new());
        let pairs = [
            (
                told(table.reader(&column).and_then(|reader| drain(reader, 3)), "the body"),
                told(Reader::open(&spec).and_then(|reader| drain(reader, 3)), &name),
            ),
            (told(table.ids(&column), "the body"), told(read_ids(&spec), &name)),
            (told(table.id_texts(&column), "the body"), told(read_id_texts(&[&spec]), &name)),
            (told(table.payloads(&column), "the body"), told(read_payloads(&spec), &name)),
            (
                told(table.labels(&column, &mut names), "the body"),
                told(read_labels_for(&[&spec], &mut others, Some(7)), &name),
            ),
        ];
        for (here, there) in pairs {
            assert_eq!(here, there, "{column}");
            same += 1;
            wrong += usize::from(here.is_err());
        }
        assert_eq!(names, others);
    }
    assert!(wrong > 10 && same - wrong > 10, "{wrong} of {same}");
}

#[test]
fn a_stream_in_memory_unpacks_to_what_it_may() {
    let packed = |batches: usize| {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![7; 100_000]));
        let batch = RecordBatch::try_from_iter([("id", column)]).unwrap();
        let options = IpcWriteOptions::default();
        let options = options.try_with_compression(Some(CompressionType::ZSTD)).unwrap();
        let mut bytes = Vec::new();
        let mut writer =
            StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
        (0..batches).for_each(|_| writer.write(&batch).unwrap());
        writer.finish().unwrap();
        drop(writer);
        bytes
    };
    let read = |batches, most| ArrowTable::read("a", std::io::Cursor::new(packed(batches)), most);
    assert!(packed(3).len() < 10_000);
    assert_eq!(read(3, 2_400_000).unwrap().rows(), 300_000);
    let error = read(3, 2_399_999).unwrap_err().to_string();
    assert!(error.contains("unpacks to 800000 bytes; 799999 are taken at most"), "{error}");
    let other = ArrowTable::read("a", &b"id,vector\n"[..], 100).unwrap_err().to_string();
    assert!(other.contains("does not begin as an Arrow stream does"), "{other}");
}

#[test]
fn codes_with_ids_and_labels_are_read_back() {
    let files = Files::new();
    let (ids, kinds): (Vec<i64>, Vec<String>) =
        (0..2500).map(|row| (row * 3 - 100, format!("kind {}", row % 4))).unzip();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("key", Arc::new(Int64Array::from(ids.clone()))),
        ("kind", Arc::new(StringArray::from(kinds.clone()))),
    ];
    let made = write(&files, columns);
    let bytes: Vec<u8> = (0..5000 * 3).map(|at| (at * 7 % 251) as u8).collect();
    let codes = Codes::from_bytes(24, &bytes).unwrap();
    let out = files.path("codes.parquet");
    let mut writer = CodesWriter::create(&out, 24).unwrap();
    writer = writer.with_columns(&made[..2], Some("key"), &["kind".to_owned()]).unwrap();
    for rows in (0..5000).collect::<Vec<_>>().chunks(777) {
        writer.write(&codes.select(rows)).unwrap();
    }
    assert!(!out.exists());
    writer.finish().unwrap();
    let spec = out.to_str().unwrap();
    assert_eq!(read_codes(spec, None).unwrap(), codes);
    assert_eq!(read_codes(spec, Some(24)).unwrap(), codes);
    let error = read_codes(spec, Some(16)).unwrap_err().to_string();
    assert!(error.contains("has 3 bytes a row; codes of 16 bits have 2"), "{error}");
    assert_eq!(single_labels(&format!("{spec}:kind")), [kinds.clone(), kinds].concat());
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(&out).unwrap()).unwrap();
    let names: Vec<String> = file.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["id", "kind", "code"]);
    // Without an id column, ids are row numbers.
    let mut writer = CodesWriter::create(&out, 24).unwrap();
    writer.write(&codes).unwrap();
    writer.finish().unwrap();
    assert_eq!(read_ids(&format!("{spec}:id")).unwrap(), (0..5000).collect::<Vec<_>>());
    // The number of codes must equal the number of rows.
    for (rows, expected) in [(2499, "fewer codes"), (2501, "more codes")] {
        let writer = CodesWriter::create(&out, 24).unwrap();
        let mut writer = writer.with_columns(&made[..1], Some("key"), &[]).unwrap();
        let written = writer.write(&codes.select(&(0..rows).collect::<Vec<_>>()));
        let error = written.and_then(|()| writer.finish()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let keep = ["kind".to_owned(), "kind".to_owned()];
    let writer = CodesWriter::create(&out, 24).unwrap();
    let error = writer.with_columns(&made[..1], None, &keep).unwrap_err().to_string();
    assert!(error.contains("names of their own"), "{error}");
    let nothing: [&String; 0] = [];
    let writer = CodesWriter::create(&out, 24).unwrap();
    let csv = files.write("a.csv", "a,b\n1,2\n");
    let error = writer.with_columns(&[&csv], Some("a"), &nothing).unwrap_err().to_string();
    assert!(error.contains("carried over from"), "{error}");
}

#[test]
fn lists_of_bytes_are_codes_too() {
    let files = Files::new();
    let codes = read_codes(&fixture("zstd.parquet:bytes"), None).unwrap();
    assert_eq!((codes.bits(), codes.len()), (24, 7));
    assert_eq!(codes.to_bytes(), (0..21).collect::<Vec<u8>>());
    let mut holes = FixedSizeBinaryBuilder::new(2);
    holes.append_value([1, 2]).unwrap();
    holes.append_null();
    for file in write(&files, vec![("code", Arc::new(holes.finish()) as ArrayRef)]) {
        let error = read_codes(&file, None).unwrap_err().to_string();
        assert!(error.contains("row 1, column \"code\" is null"), "{error}");
    }
}

/// Writes rows of `dim` numbers in several row groups.
pub fn large_parquet(files: &Files, rows: usize, dim: usize) -> String {
    let path = files.path("large.parquet");
    let batch = |start: usize, end: usize| {
        let mut lists = ListBuilder::new(Float32Builder::new());
        let mut names = StringBuilder::new();
        for row in start..end {
            lists.append_value((0..dim).map(|column| Some((row * dim + column) as f32)));
            names.append_value(format!("row {row}"));
        }
        let ids = (start as u64..end as u64).collect::<Vec<_>>();
        let columns: [(&str, ArrayRef); 3] = [
            ("id", Arc::new(UInt64Array::from(ids))),
            ("x", Arc::new(lists.finish())),
            ("name", Arc::new(names.finish())),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(rows / 3))
        .build();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch(0, 0).schema(), Some(properties)).unwrap();
    for start in (0..rows).step_by(1000) {
        writer.write(&batch(start, rows.min(start + 1000))).unwrap();
    }
    writer.close().unwrap();
    path.to_str().unwrap().to_owned()
}
