//! `compare`: several methods under one protocol.

use crate::support::Directory;

#[test]
fn a_class_that_is_too_small_is_called_by_its_name() {
    let directory = Directory::new();
    let (mut rows, mut labels) = (String::new(), String::new());
    for row in 0..30 {
        rows += &format!("{},{},{}\n", row % 7, row % 5, row % 3);
        // Label numbers follow first appearance: setosa is 0, and the rare virginica is 1.
        labels += if row == 1 || row == 9 { "virginica\n" } else { "setosa\n" };
    }
    directory.write("x.csv", rows);
    directory.write("y.txt", labels);
    directory
        .run("compare --data x.csv --labels y.txt --methods lsh --bits 8 --queries-per-class 2")
        .fails_with(&["label \"virginica\" has 2 items, too few for 2 queries"]);
}
