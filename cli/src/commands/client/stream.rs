//! Items as an Arrow stream, the format that services read fastest.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field};
use hashbrook::Features;
use hashbrook::store::ItemId;

/// Content type of an Arrow stream.
pub const KIND: &str = "application/vnd.apache.arrow.stream";

/// Encodes a stream of one batch. Labels and payloads are given for each item, or not at all.
pub fn encoded(
    ids: &[ItemId],
    vectors: Features<'_>,
    labels: &[Vec<String>],
    payloads: &[Vec<u8>],
) -> Result<Vec<u8>> {
    let number = |id: &ItemId| match id {
        ItemId::Number(number) => Some(*number),
        ItemId::Text(_) => None,
    };
    let numbers: Option<Vec<u64>> = ids.iter().map(number).collect();
    let ids: ArrayRef = match numbers {
        Some(numbers) => Arc::new(UInt64Array::from(numbers)),
        None => {
            let text = |id: &ItemId| match id {
                ItemId::Number(number) => number.to_string(),
                ItemId::Text(text) => text.clone(),
            };
            Arc::new(StringArray::from_iter_values(ids.iter().map(text)))
        }
    };
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let values = Arc::new(Float32Array::from(vectors.values().to_vec()));
    let vectors = FixedSizeListArray::try_new(item, i32::try_from(vectors.dim())?, values, None)?;
    let mut columns: Vec<(&str, ArrayRef)> = vec![("id", ids), ("vector", Arc::new(vectors))];
    if !labels.is_empty() {
        let mut lists = ListBuilder::new(StringBuilder::new());
        for labels in labels {
            labels.iter().for_each(|label| lists.values().append_value(label));
            lists.append(true);
        }
        columns.push(("labels", Arc::new(lists.finish())));
    }
    if !payloads.is_empty() {
        let texts = payloads.iter().map(|payload| std::str::from_utf8(payload));
        let texts = texts.collect::<Result<Vec<&str>, _>>()?.into_iter();
        let texts: StringArray =
            texts.map(|text| Some(text).filter(|text| !text.is_empty())).collect();
        columns.push(("payload", Arc::new(texts)));
    }
    let batch = RecordBatch::try_from_iter(columns)?;
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(&batch)?;
    Ok(writer.into_inner()?)
}
