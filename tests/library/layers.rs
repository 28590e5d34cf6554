//! Checks that imports between the library's files point down the layers of ARCHITECTURE.md and
//! never form a cycle.

mod source;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;

use source::{Module, Written, is_relative, modules};

/// Allowed imports that would close a cycle: (importing file, imported file, reason).
const EXCEPTIONS: &[(&str, &str, &str)] =
    &[("disk/mod.rs", "disk/simulated/mod.rs", "the simulated disk is compiled for tests alone")];

/// Imported files of each file; paths are relative to `src/`.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The modules of a crate, by their paths.
struct Crate(BTreeMap<Vec<String>, Module>);

/// Target of a path: an item, represented by the file that defines the item, or a module.
enum Target {
    Item { file: String },
    Module { path: Vec<String> },
}

impl Crate {
    /// Reads all files of a directory whose crate root is `lib.rs`.
    fn read(directory: &Path) -> Crate {
        let mut all = BTreeMap::new();
        let mut directories = vec![directory.to_owned()];
        while let Some(next) = directories.pop() {
            for entry in fs::read_dir(&next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let file = path.strip_prefix(directory).unwrap().to_str().unwrap();
                    let file = file.replace('\\', "/");
                    add(&mut all, &file, &fs::read_to_string(&path).unwrap());
                }
            }
        }
        Crate(all)
    }

    /// Builds a crate from texts in memory, for the tests of the reader.
    fn of(files: &[(&str, &str)]) -> Crate {
        let mut all = BTreeMap::new();
        files.iter().for_each(|(file, text)| add(&mut all, file, text));
        Crate(all)
    }

    /// Resolves a name used in a module; returns `None` for names from other crates.
    fn name(&self, module: &Module, name: &str, last: bool) -> Option<Target> {
        let child: Vec<String> = module.path.iter().cloned().chain([name.to_owned()]).collect();
        let is_child = self.0.contains_key(&child);
        // A function may have the same name as its module.
        if is_child && !last {
            return Some(Target::Module { path: child });
        }
        if module.defines.contains(name) {
            return Some(Target::Item { file: module.file.clone() });
        }
        let named = |import: &&Written| import.name.as_deref() == Some(name);
        for import in module.imports.iter().filter(named) {
            // `use digits::digits` imports the item in the module, not the module.
            if import.path != [name] {
                return self.target(module, &import.path);
            }
        }
        if is_child {
            return Some(Target::Module { path: child });
        }
        // Glob imports from other crates import no names of this crate.
        for import in module.imports.iter().filter(|import| import.all && is_relative(&import.path))
        {
            if let Some(Target::Module { path }) = self.target(module, &import.path) {
                let from = &self.0[&path];
                if from.path != module.path && from.defines.contains(name) {
                    return Some(Target::Item { file: from.file.clone() });
                }
            }
        }
        None
    }

    /// Resolves a path written in a module; returns `None` if the path leaves the crate.
    fn target(&self, module: &Module, path: &[String]) -> Option<Target> {
        let mut at = module.path.clone();
        let mut rest = path;
        if path[0] == "crate" {
            (at, rest) = (Vec::new(), &path[1..]);
        } else if path[0] == "self" {
            rest = &path[1..];
        }
        while rest.first().is_some_and(|name| name == "super") {
            at.pop();
            rest = &rest[1..];
        }
        let absolute = rest.len() < path.len();
        for (place, name) in rest.iter().enumerate() {
            let here = &self.0[&at];
            match self.name(here, name, place + 1 == rest.len()) {
                Some(Target::Module { path }) => at = path,
                // The rest of the path is a variant, a constant or a function of a type.
                Some(item) => return Some(item),
                None if place == 0 && !absolute => return None,
                None => return Some(Target::Item { file: here.file.clone() }),
            }
        }
        Some(Target::Module { path: at })
    }

    /// Returns the file of the ancestor module through which a path imports, if any. The import
    /// then also counts as an import of the ancestor's `mod.rs`, even if that file only re-exports
    /// the item.
    fn through(&self, module: &Module, path: &[String]) -> Option<String> {
        let (_, directory) = path.split_last().filter(|_| is_relative(path))?;
        let Some(Target::Module { path }) = self.target(module, directory) else { return None };
        let above = !path.is_empty() && module.path.starts_with(&path) && path != module.path;
        above.then(|| self.0[&path].file.clone())
    }

    fn graph(&self) -> Graph {
        let mut graph = Graph::new();
        for module in self.0.values().filter(|module| !module.path.is_empty()) {
            let edges = graph.entry(module.file.clone()).or_default();
            for import in &module.imports {
                match self.target(module, &import.path) {
                    Some(Target::Item { file }) => {
                        edges.insert(file);
                        edges.extend(self.through(module, &import.path));
                    }
                    // If paths in the code go through the imported module, they add edges to the
                    // files of the items, which are more precise.
                    Some(Target::Module { path }) if import.all || !module.enters(import) => {
                        edges.insert(self.0[&path].file.clone());
                    }
                    _ => {}
                }
            }
            for path in &module.mentions {
                if let Some(Target::Item { file }) = self.target(module, path) {
                    edges.insert(file);
                    edges.extend(self.through(module, path));
                }
            }
            edges.remove(&module.file);
            edges.remove("lib.rs");
        }
        graph
    }
}

fn add(all: &mut BTreeMap<Vec<String>, Module>, file: &str, text: &str) {
    let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
    let path = match name {
        "lib" => Vec::new(),
        name => name.split('/').map(str::to_owned).collect(),
    };
    all.extend(modules(file, path, text).into_iter().map(|module| (module.path.clone(), module)));
}

/// Returns the shortest import cycle through a file.
fn circle(graph: &Graph, start: &str) -> Option<Vec<String>> {
    let mut from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for next in graph.get(file).into_iter().flatten() {
            if next == start {
                let mut chain = vec![start.to_owned(), file.to_owned()];
                while let Some(before) = from.get(chain[chain.len() - 1].as_str()) {
                    chain.push((*before).to_owned());
                }
                chain.reverse();
                return Some(chain);
            }
            if !from.contains_key(next.as_str()) {
                from.insert(next, file);
                queue.push_back(next);
            }
        }
    }
    None
}

/// Returns the shortest import cycle through each file, every cycle once.
fn circles(graph: &Graph) -> Vec<String> {
    let mut found: BTreeMap<BTreeSet<String>, Vec<String>> = BTreeMap::new();
    for file in graph.keys() {
        if let Some(chain) = circle(graph, file) {
            found.entry(chain.iter().cloned().collect()).or_insert(chain);
        }
    }
    found.into_values().map(|chain| chain.join(" -> ")).collect()
}

fn whole_library() -> Graph {
    Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).graph()
}

/// Returns the import graph of the library without the exceptions.
fn library() -> Graph {
    let mut graph = whole_library();
    for (file, imported, _) in EXCEPTIONS {
        graph.get_mut(*file).map(|edges| edges.remove(*imported));
    }
    graph
}

/// Reads a layer diagram from ARCHITECTURE.md: the fenced block with this head, one layer of module
/// names per line.
fn picture(head: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let text = fs::read_to_string(path).unwrap();
    let fence = format!("```{head}");
    let lines = text.lines().skip_while(|line| *line != fence).skip(1);
    let layers: Vec<Vec<String>> = lines
        .take_while(|line| *line != "```")
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect();
    assert!(!layers.is_empty(), "ARCHITECTURE.md has no picture {fence}");
    layers
}

/// Returns the imports between modules of a directory of `src/` that violate a layer diagram. The
/// directory's own `mod.rs` is called `mod`.
fn against(graph: &Graph, directory: &str, layers: &[Vec<String>]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut places = BTreeMap::new();
    for (place, name) in layers
        .iter()
        .enumerate()
        .flat_map(|(place, names)| names.iter().map(move |name| (place, name.clone())))
    {
        if places.insert(name.clone(), place).is_some() {
            problems.push(format!("{name} is in the picture twice"));
        }
    }
    let module = |file: &str| -> Option<String> {
        let name = file.strip_prefix(directory)?.split('/').next()?;
        Some(name.trim_end_matches(".rs").to_owned())
    };
    let there: BTreeSet<String> = graph.keys().filter_map(|file| module(file)).collect();
    problems.extend(
        there
            .iter()
            .filter(|name| !places.contains_key(*name))
            .map(|name| format!("{name} is not in the picture")),
    );
    problems.extend(
        places
            .keys()
            .filter(|name| !there.contains(*name))
            .map(|name| format!("{name} is in the picture, and nowhere else")),
    );
    for (file, edges) in graph {
        for imported in edges {
            let (Some(from), Some(to)) = (module(file), module(imported)) else { continue };
            let (Some(above), Some(below)) = (places.get(&from), places.get(&to)) else { continue };
            if from != to && above >= below {
                problems.push(format!("{file} imports {imported}, which is not below it"));
            }
        }
    }
    problems
}

fn expect_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn no_imports_in_circles() {
    expect_none(&circles(&library()));
}

#[test]
fn exceptions_are_needed() {
    let graph = whole_library();
    let is_gone = |(file, imported, _): &&(&str, &str, &str)| {
        !graph.get(*file).is_some_and(|edges| edges.contains(*imported))
    };
    let gone = EXCEPTIONS.iter().filter(is_gone).map(|(file, imported, _)| {
        format!("{file} does not import {imported} any more: take the exception out")
    });
    expect_none(&gone.collect::<Vec<_>>());
}

#[test]
fn imports_go_down_in_the_picture_of_the_layers() {
    expect_none(&against(&library(), "", &picture("layers")));
}

#[test]
fn imports_go_down_in_the_picture_of_the_index() {
    expect_none(&against(&library(), "index/", &picture("layers index")));
}

fn edges(files: &[(&str, &str)], file: &str) -> Vec<String> {
    Crate::of(files).graph()[file].iter().cloned().collect()
}

#[test]
fn imports_are_found_however_they_are_written() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; pub use b::{Thing, inner::Deep}; pub use c::twin;"),
        ("b/mod.rs", "pub mod inner; pub struct Thing; pub use self::inner::Deep;"),
        ("b/inner.rs", "pub struct Deep; pub fn deep() {}"),
        ("c/mod.rs", "mod twin; pub use twin::twin; pub const C: char = '\"';"),
        ("c/twin.rs", "pub fn twin() {}"),
    ];
    let of = |text: &str| edges(&[&files[..], &[("a.rs", text)]].concat(), "a.rs");
    let none: [&str; 0] = [];
    assert_eq!(of("use std::fmt; use crate::{Thing, c::{self, C}};"), ["b/mod.rs", "c/mod.rs"]);
    assert_eq!(of("use crate::b::Deep as D;"), ["b/inner.rs"]);
    assert_eq!(of("use crate::Deep;"), ["b/inner.rs"]);
    assert_eq!(of("use super::b::inner::deep;"), ["b/inner.rs"]);
    assert_eq!(of("use crate::b::*;"), ["b/mod.rs"]);
    assert_eq!(of("use crate::twin;"), ["c/twin.rs"]);
    assert_eq!(of("fn f() { crate::b::inner::deep() }"), ["b/inner.rs"]);
    assert_eq!(of("use crate::b; fn f() { b::inner::deep::<u8>() }"), ["b/inner.rs"]);
    assert_eq!(of("mod x { use super::super::Thing; }"), ["b/mod.rs"]);
    assert_eq!(of("fn f<'a>(x: &'a u8) { use crate::Deep; }"), ["b/inner.rs"]);
    assert_eq!(of("/* use crate::Deep; */ // use crate::Deep;"), none);
    assert_eq!(
        of("const A: &str = \"\\\" use crate::Deep;\"; const B: &str = r#\"crate::Deep\"#;"),
        none
    );
    assert_eq!(of("#[cfg(test)] mod tests { use crate::Deep; }"), none);
    assert_eq!(of("impl A { #[cfg(test)] fn f() { crate::b::inner::deep() } }"), none);
    assert_eq!(of("#[cfg(not(test))] use crate::Deep;"), ["b/inner.rs"]);
    assert_eq!(of("use crate::b; many!(b);"), ["b/mod.rs"]);
}

#[test]
fn circles_are_named_file_by_file() {
    let root = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;");
    let chain = [
        root,
        ("a/mod.rs", "mod one; mod two; pub use one::One; pub struct A;"),
        ("a/one.rs", "use super::two::Two; pub struct One;"),
        ("a/two.rs", "use crate::B; pub struct Two;"),
        ("b.rs", "use crate::A; pub struct B;"),
    ];
    let found = circles(&Crate::of(&chain).graph());
    assert_eq!(found, ["a/mod.rs -> a/one.rs -> a/two.rs -> b.rs -> a/mod.rs"]);
    // A child must not import a sibling's item through their parent.
    let through = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod one; mod two; pub use self::{one::One, two::Two};"),
        ("a/one.rs", "use super::Two; pub struct One;"),
        ("a/two.rs", "pub struct Two;"),
    ];
    assert_eq!(circles(&Crate::of(&through).graph()), ["a/mod.rs -> a/one.rs -> a/mod.rs"]);
}

#[test]
fn a_picture_that_is_wrong_is_told() {
    let graph = Graph::from([
        ("a.rs".to_owned(), BTreeSet::from(["b/c.rs".to_owned()])),
        ("b/c.rs".to_owned(), BTreeSet::new()),
    ]);
    let layers = |lines: &[&str]| -> Vec<Vec<String>> {
        lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    };
    let none: [&str; 0] = [];
    assert_eq!(against(&graph, "", &layers(&["a", "b"])), none);
    let wrong = ["a.rs imports b/c.rs, which is not below it"];
    assert_eq!(against(&graph, "", &layers(&["b", "a"])), wrong);
    assert_eq!(against(&graph, "", &layers(&["a b"])), wrong);
    assert_eq!(against(&graph, "", &layers(&["a"])), ["b is not in the picture"]);
    let more = against(&graph, "", &layers(&["a c", "b", "a"]));
    assert_eq!(
        more,
        [
            "a is in the picture twice",
            "c is in the picture, and nowhere else",
            "a.rs imports b/c.rs, which is not below it",
        ]
    );
}
