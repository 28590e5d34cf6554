//! From labelled vectors to codes and a search for similar items, in five steps.
//!
//! ```text
//! cargo run --release --example quickstart
//! ```

use hashbrook::dataset::{Digits, digits};
use hashbrook::{Batch, Features, Labels, Method, hamming};

fn main() -> hashbrook::Result<()> {
    // 1. Vectors and labels: here 1,797 handwritten digits of 8 x 8 pixels.
    let Digits { features, labels } = digits();
    let stream = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;

    // 2. A method, and a model that learns with it: 64 numbers in, 32 bits out.
    let mut model = Method::named("brook")?.start(Digits::DIM, 32, 1)?;

    // 3. The stream, a batch at a time. The model stores only what learning needs.
    for start in (0..stream.len()).step_by(200) {
        model.learn(stream.slice(start..stream.len().min(start + 200)))?;
    }

    // 4. The function learned so far, and the codes of all digits.
    let function = model.hash_function();
    let codes = function.encode(stream.features())?;

    // 5. The digits nearest to the first digit.
    let query = codes.code(0);
    let mut ranking: Vec<(u32, usize)> =
        codes.iter().enumerate().map(|(row, code)| (hamming(query, code), row)).collect();
    ranking.sort_unstable();
    println!("a {} finds:", labels[0]);
    for (distance, row) in &ranking[..5] {
        println!("  row {row:>4}, a {}, {distance} bits away", labels[*row]);
    }

    assert!(ranking[..10].iter().filter(|(_, row)| labels[*row] == labels[0]).count() >= 9);
    Ok(())
}
