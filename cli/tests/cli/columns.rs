//! Parquet, Arrow and HDF5 files, from vectors to codes to neighbours.

use crate::support::Directory;

/// Path of a file of the library's tests, with 7 rows of 3 numbers in its column or dataset.
fn fixture(name: &str) -> String {
    format!("{}/../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Creates a directory with two tables and a model.
fn directory() -> Directory {
    let directory = Directory::new();
    for name in ["a1.parquet", "a2.parquet"] {
        std::fs::copy(fixture("snappy.parquet"), directory.file(name)).unwrap();
    }
    std::fs::copy(fixture("table.arrows"), directory.file("table.arrows")).unwrap();
    std::fs::copy(fixture("earliest.h5"), directory.file("ann.hdf5")).unwrap();
    let learn =
        "learn --method lsh --bits 24 --data a1.parquet:x --labels a1.parquet:number --out m";
    directory.run(learn).ok();
    directory
}

#[test]
fn tables_become_codes_with_their_ids() {
    let directory = directory();
    let said = directory
        .run("encode --model m --data a*.parquet:x --id-column id --keep label,number --out c.parquet")
        .ok()
        .out;
    assert!(said.contains("14 codes of 24 bits written to c.parquet"), "{said}");
    // The same files, listed one by one as a shell expands a pattern.
    directory.run("encode --model m --data a1.parquet:x a2.parquet:fixed --out c.npy").ok();
    directory.run("encode --model m --data ann.hdf5:train --out h.npy").ok();
    let (npy, h5) =
        (std::fs::read(directory.file("c.npy")), std::fs::read(directory.file("h.npy")));
    let (npy, h5) = (npy.unwrap(), h5.unwrap());
    assert_eq!(npy[npy.len() - 42..npy.len() - 21], h5[h5.len() - 21..]);
    // An index can be built from codes and ids, together with labels.
    let build = "index build --codes c.parquet --id-column id --labels c.parquet:number --out i";
    // Both files contain the same ids.
    directory.run(build).fails_with(&["100"]);
    directory
        .run("encode --model m --data a1.parquet:x --id-column id --keep number --out c.parquet")
        .ok();
    directory.run(build).ok();
    // The hits are the same as with codes and ids from other files.
    directory.run("index build --codes h.npy --ids table.arrows:id --out j").ok();
    let search = |index: &str| {
        directory
            .run(&format!("search --index {index} --model m --queries a1.parquet:half -k 3 --json"))
    };
    let (found, expected) = (search("i").ok().json(), search("j").ok().json());
    for (found, expected) in found.iter().zip(&expected).take(7) {
        assert_eq!(
            (&found["ids"], &found["distances"]),
            (&expected["ids"], &expected["distances"])
        );
    }
    assert_eq!((&found[0]["ids"][0], found.len()), (&100.into(), 8));
    directory.run("index add i --codes c.parquet --id-column id --upsert").ok();
    directory
        .run("encode --model m --data a1.parquet:x --id-column id --out c.npy")
        .fails_with(&["need a Parquet file"]);
    directory
        .run("encode --model m --data a1.parquet:x --id-column no --out c.parquet")
        .fails_with(&["has no column \"no\"; it has id (int64)"]);
    directory
        .run("encode --model m --data ann.hdf5:train --id-column id --out c.parquet")
        .fails_with(&["carried over from Parquet and Arrow files"]);
    assert!(directory.names().iter().all(|name| !name.contains("tmp")), "{:?}", directory.names());
}

#[test]
fn an_index_is_made_of_a_table_in_one_go() {
    let directory = directory();
    let items = "--model m --data a1.parquet:x --id-column id --labels a1.parquet:label";
    directory.run(&format!("index build {items} --out i")).ok();
    directory.run(&format!("index build {items} --vectors f16 --out v")).ok();
    for index in ["i", "v"] {
        let search = format!("search --index {index} --queries ann.hdf5:test -k 1 --out found.csv");
        directory.run(&search).ok();
        let found = std::fs::read_to_string(directory.file("found.csv")).unwrap();
        assert!(found.contains("\n0,0,100,0,cat\n1,0,100,"), "{found}");
    }
}

#[cfg(unix)]
#[test]
fn a_stream_comes_through_a_pipe() {
    let directory = directory();
    directory.run("encode --model m --data a1.parquet:x --out c.npy").ok();
    directory
        .shell("cat table.arrows | hashbrook encode --model m --data=-:x --out piped.npy")
        .ok();
    directory
        .shell("gzip -c table.arrows | hashbrook encode --model m --data=-:x --out packed.npy")
        .ok();
    let read = |name: &str| std::fs::read(directory.file(name)).unwrap();
    assert!(read("piped.npy") == read("c.npy") && read("packed.npy") == read("c.npy"));
}

/// Vectors, ids and labels are columns of one table that arrives through a pipe, only once.
#[cfg(unix)]
#[test]
fn a_pipe_has_ids_and_labels_too() {
    let directory = directory();
    let read = |name: &str| std::fs::read(directory.file(name)).unwrap();
    let columns = "--id-column id --keep label --out";
    let items = "--id-column id --vectors f16 --out";
    let learn = "learn --method lsh --bits 24";
    directory.run(&format!("encode --model m --data table.arrows:x {columns} file.parquet")).ok();
    let build = format!("--data table.arrows:x --labels table.arrows:label {items} file.index");
    directory.run(&format!("index build --model m {build}")).ok();
    let data = "--data table.arrows:x --labels table.arrows:label --out file.model";
    directory.run(&format!("{learn} {data}")).ok();
    let search = "search --queries a1.parquet:x -k 7 --json --index";
    let found = |index: &str| {
        let mut found = directory.run(&format!("{search} {index}")).ok().json();
        found.truncate(7);
        found
    };
    for source in ["cat table.arrows", "gzip -c table.arrows", "cat a1.parquet"] {
        let pipe = |command: &str| directory.shell(&format!("{source} | hashbrook {command}"));
        pipe(&format!("encode --model m --data=-:x {columns} p.parquet")).ok();
        assert!(read("p.parquet") == read("file.parquet"), "{source}");
        let build = format!("--data=-:x --labels=-:label {items} p.index --force");
        pipe(&format!("index build --model m {build}")).ok();
        assert_eq!(found("p.index"), found("file.index"), "{source}");
        pipe(&format!("{learn} --data=-:x --labels=-:label --out p.model")).ok();
        assert!(read("p.model") == read("file.model"), "{source}");
        pipe("index add p.index --data=-:x --id-column id --upsert").ok();
    }
    let wrong =
        "cat table.arrows | hashbrook encode --model m --data=-:x --id-column no --out p.parquet";
    directory.shell(wrong).fails_with(&["standard-input: has no column \"no\"; it has id (int64)"]);
    let wrong = "cat table.arrows | hashbrook index add p.index --data=- --labels=-";
    directory.shell(wrong).fails_with(&["- is given twice"]);
}

#[test]
fn ids_may_be_texts() {
    let directory = Directory::new();
    let table = |rows: std::ops::Range<usize>| {
        let row = |row: usize| format!("pet {row},{},{},{}\n", row % 7, row / 7, row % 2);
        "name,a,b,kind\n".to_owned() + &rows.map(row).collect::<String>()
    };
    directory.write("pets.csv", table(0..40));
    directory.write("more.csv", table(40..49));
    directory
        .run("learn --method lsh --bits 64 --data pets.csv:a,b --labels pets.csv:kind --out m")
        .ok();
    let build = "index build --model m --data pets.csv:a,b --id-column name --out i";
    directory.run(build).ok();
    assert_eq!(directory.names(), ["i", "i.ids", "m", "more.csv", "pets.csv"]);
    let search = "search --index i --queries pets.csv:a,b -k 1";
    let found: Vec<_> = directory.run(&format!("{search} --json")).ok().json();
    assert_eq!((&found[0]["ids"][0], &found[39]["ids"][0]), (&"pet 0".into(), &"pet 39".into()));
    assert!(directory.run(search).ok().out.contains("query 3: pet 3 at 0"));
    directory.run(&format!("{search} --out found.csv")).ok();
    let found = std::fs::read_to_string(directory.file("found.csv")).unwrap();
    assert!(found.contains("39,0,pet 39,0,\n"), "{found}");
    directory.run(&format!("{search} --out found.npz")).ok();
    // Items are added and removed by their string ids.
    let more = "index add i --data more.csv:a,b";
    directory.run(more).fails_with(&["the ids of this index are texts; give those of the items"]);
    directory.run(&format!("{more} --id-column name")).ok();
    directory
        .run(&format!("{more} --ids more.csv:name"))
        .fails_with(&["the id \"pet 40\" is there already"]);
    directory.run(&format!("{more} --ids more.csv:name --upsert")).ok();
    directory.write("gone.txt", "pet 41\npet 999\n");
    let removed =
        directory.shell("hashbrook index remove i --id 'pet 40','pet 998' --ids gone.txt --json");
    assert_eq!(removed.ok().json()[0]["removed"], 2);
    let nearest = directory.shell(
        "hashbrook search --index i --queries more.csv:a,b -k 1 --where 'id=pet 42,pet 43' --json",
    );
    let nearest = nearest.ok().json();
    assert_eq!(
        (&nearest[2]["ids"][0], &nearest[3]["ids"][0]),
        (&"pet 42".into(), &"pet 43".into())
    );
    // Commands fail if the ids file of an index is missing or belongs to another index, also after
    // a compaction.
    directory.run("index compact i").ok();
    let texts = std::fs::read(directory.file("i.ids")).unwrap();
    std::fs::write(directory.file("i.ids"), "no ids").unwrap();
    directory.run(search).fails_with(&["i.ids: is no file of ids that are texts"]);
    std::fs::remove_file(directory.file("i.ids")).unwrap();
    let gone = "i.ids: is not there; it has the texts";
    for command in [search, "index remove i --id 3", "dedup --index i --radius 0"] {
        directory.run(command).fails_with(&[gone, "move it along"]);
    }
    std::fs::write(directory.file("i.ids"), &texts).unwrap();
    // A new index with integer ids in the same file has no string ids and accepts none.
    directory.run("index build --model m --data pets.csv:a,b --out i --force").ok();
    assert!(!directory.file("i.ids").exists());
    directory
        .run("index remove i --id 4,-3")
        .fails_with(&["a whole number of 0 or more was expected"]);
    let wrong = "row 0 is \"pet 40\"; ids must be whole numbers";
    directory.run(&format!("{more} --ids more.csv:name")).fails_with(&[wrong]);
    directory.run(&format!("{more} --id-column name")).fails_with(&[wrong]);
    let wrong = format!("{} --ids pets.csv:name --force", build.replace("--id-column name", ""));
    directory.run(&wrong).fails_with(&["row 0 is \"pet 0\"; ids must be whole numbers"]);
    // An ids file left over from another index is ignored.
    std::fs::write(directory.file("i.ids"), &texts).unwrap();
    assert!(directory.run(search).ok().out.contains("query 3: 3 at 0"));
}
