//! Named arrays of a safetensors file.

use std::collections::BTreeMap;

use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensorError, SafeTensors};

/// Number type of an array's elements.
pub(crate) trait Number: Copy {
    const DTYPE: Dtype;
    const SIZE: usize;
    fn put(self, bytes: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($number:ty => $dtype:ident),*) => {$(
        impl Number for $number {
            const DTYPE: Dtype = Dtype::$dtype;
            const SIZE: usize = size_of::<$number>();
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut le = [0; size_of::<$number>()];
                le.copy_from_slice(bytes);
                <$number>::from_le_bytes(le)
            }
        }
    )*};
}

number!(f32 => F32, f64 => F64, i8 => I8, u32 => U32, u64 => U64);

#[derive(Clone, PartialEq)]
struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// Named arrays.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Tensors(BTreeMap<String, Tensor>);

impl Tensors {
    /// Adds an array whose rows have `width` numbers.
    pub(crate) fn put<N: Number>(&mut self, name: &str, width: usize, values: &[N]) {
        self.put_numbers(name, width, values.len(), values.iter().copied());
    }

    /// Adds an array of `count` numbers, which need not be contiguous in memory.
    pub(crate) fn put_numbers<N: Number>(
        &mut self,
        name: &str,
        width: usize,
        count: usize,
        values: impl Iterator<Item = N>,
    ) {
        let mut bytes = Vec::with_capacity(count * N::SIZE);
        values.for_each(|value| value.put(&mut bytes));
        let shape = vec![count.checked_div(width).unwrap_or(0), width];
        self.0.insert(name.to_owned(), Tensor { dtype: N::DTYPE, shape, bytes });
    }

    /// Takes an array of rows of `width` numbers out. Returns a description of the problem if the
    /// array is missing or has another type or shape.
    pub(crate) fn take<N: Number>(&mut self, name: &str, width: usize) -> Result<Vec<N>, String> {
        let tensor = self.0.remove(name).ok_or_else(|| format!("holds no array {name:?}"))?;
        if tensor.dtype != N::DTYPE || tensor.shape.len() != 2 || tensor.shape[1] != width {
            return Err(format!(
                "array {name:?} should be n x {width} of {:?}, it is {:?} of {:?}",
                N::DTYPE,
                tensor.shape,
                tensor.dtype
            ));
        }
        Ok(tensor.bytes.chunks_exact(N::SIZE).map(N::get).collect())
    }

    /// Like [`take`](Self::take), for exactly `rows` rows.
    pub(crate) fn take_rows<N: Number>(
        &mut self,
        name: &str,
        rows: usize,
        width: usize,
    ) -> Result<Vec<N>, String> {
        let values = self.take(name, width)?;
        if Some(values.len()) == rows.checked_mul(width) {
            return Ok(values);
        }
        let found = values.len().checked_div(width).unwrap_or(0);
        Err(format!("array {name:?} should have {rows} rows, it has {found}"))
    }

    /// Adds a list of indices, one to a row.
    pub(crate) fn put_places(&mut self, name: &str, places: &[usize]) {
        let places: Vec<u64> = places.iter().map(|&place| place as u64).collect();
        self.put(name, 1, &places);
    }

    /// Takes out a list that [`put_places`](Self::put_places) added.
    pub(crate) fn take_places(&mut self, name: &str) -> Result<Vec<usize>, String> {
        let places: Vec<u64> = self.take(name, 1)?;
        Ok(places.into_iter().map(|place| usize::try_from(place).unwrap_or(usize::MAX)).collect())
    }

    /// Returns the length of an array's rows.
    pub(crate) fn width(&self, name: &str) -> Result<usize, String> {
        let tensor = self.0.get(name).ok_or_else(|| format!("holds no array {name:?}"))?;
        tensor.shape.get(1).copied().ok_or_else(|| format!("array {name:?} should have rows"))
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the name and size in bytes of each array.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(name, tensor)| (name.as_str(), tensor.bytes.len()))
    }

    /// Returns a checksum of all arrays, with their names and shapes, and of `text`.
    pub(crate) fn checksum(&self, text: &str) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(text.as_bytes());
        for (name, tensor) in &self.0 {
            sum.update(format!("{name}{:?}{:?}", tensor.dtype, tensor.shape).as_bytes());
            sum.update(&tensor.bytes);
        }
        sum.finalize()
    }

    /// Returns the bytes of a safetensors file with `text` under `key` of its metadata.
    pub(crate) fn to_bytes(&self, key: &str, text: String) -> Result<Vec<u8>, SafeTensorError> {
        let views = self
            .0
            .iter()
            .map(|(name, t)| Ok((name, TensorView::new(t.dtype, t.shape.clone(), &t.bytes)?)))
            .collect::<Result<Vec<_>, SafeTensorError>>()?;
        safetensors::serialize(views, Some([(key.to_owned(), text)].into()))
    }

    /// Reads the bytes of a safetensors file: its arrays, and the string under `key` of its
    /// metadata.
    pub(crate) fn from_bytes(
        bytes: &[u8],
        key: &str,
    ) -> Result<(Self, Option<String>), SafeTensorError> {
        let (_, header) = SafeTensors::read_metadata(bytes)?;
        let text = header.metadata().as_ref().and_then(|metadata| metadata.get(key).cloned());
        let file = SafeTensors::deserialize(bytes)?;
        let tensors = file.iter().map(|(name, view)| {
            let (dtype, shape) = (view.dtype(), view.shape().to_vec());
            (name.to_owned(), Tensor { dtype, shape, bytes: view.data().to_vec() })
        });
        Ok((Tensors(tensors.collect()), text))
    }

    /// Changes a random array a little: a number, a row more or less, or another width.
    #[cfg(test)]
    pub(crate) fn damage(&mut self, rng: &mut rand::rngs::ChaCha8Rng) {
        use rand::RngExt;
        if self.0.is_empty() {
            return;
        }
        let at = rng.random_range(0..self.0.len());
        let Some((name, tensor)) = self.0.iter_mut().nth(at) else { return };
        let size = tensor.dtype.bitsize() / 8;
        let row = size * tensor.shape[1].max(1);
        match rng.random_range(0..5) {
            0 => {
                tensor.bytes.extend(std::iter::repeat_n(rng.random::<u8>(), row));
                tensor.shape[0] += 1;
            }
            1 if tensor.shape[0] > 0 => {
                tensor.bytes.truncate(tensor.bytes.len() - row);
                tensor.shape[0] -= 1;
            }
            2 => {
                let name = name.clone();
                self.0.remove(&name);
            }
            _ if !tensor.bytes.is_empty() => {
                let byte = rng.random_range(0..tensor.bytes.len());
                tensor.bytes[byte] = rng.random();
            }
            _ => {}
        }
    }
}
