//! From digits to an index file, and to neighbours: search, filter, change, find near-duplicates.
//!
//! ```text
//! cargo run --release --example search_digits
//! ```

use hashbrook::dataset::{Digits, digits};
use hashbrook::{Batch, Features, Filter, Index, Labels, Method};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Digits { features, labels } = digits();
    let all = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;
    let (known, asked) = (all.slice(0..1500), all.slice(1500..1797));
    let mut model = Method::named("brook")?.start(Digits::DIM, 64, 1)?;
    model.learn(known)?;

    // You choose the ids. Labels are used by filters.
    let ids: Vec<u64> = (0..1500).map(|row| 7000 + row).collect();
    let mut index = Index::new(model.hash_function());
    index.add(&ids, known.features(), known.labels())?;
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("digits.index");
    index.save(&path)?;

    // Any number of processes can open the file for searching.
    let reader = Index::open(&path)?;
    let found = reader.search(asked.features(), 5)?;
    let mut right = 0;
    for (query, row) in found.iter().enumerate() {
        let label = asked.labels().map(|labels| labels.row(query).to_vec());
        let nearest = reader.get(row[0].id)?.map(|item| item.labels);
        right += usize::from(nearest == label);
    }
    println!("the nearest of 1,500 digits is the right one for {right} of {} queries", found.len());

    let threes = Filter::all().labels(&[3]);
    let near = reader.filtered(&threes).within(asked.features().slice(0..1), 20)?;
    println!("within 20 bits of the first query there are {} threes", near.row(0).len());

    // One process can open the file for writing. A change is in the file when the call returns.
    let mut writer = Index::edit(&path)?;
    writer.remove(&ids[..100])?;
    println!("{} digits left; this reader still sees {}", writer.len(), reader.len());

    let groups = writer.duplicates(0)?;
    let largest = groups.iter().map(Vec::len).max().unwrap_or(0);
    println!("{} groups share a code; the largest has {largest} digits", groups.len());
    Ok(())
}
