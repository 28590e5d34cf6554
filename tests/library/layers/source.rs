//! Minimal reader of Rust code, limited to imports: a module's definitions, its imports, and the
//! paths in its code. Test modules are skipped.

use std::collections::BTreeSet;

/// A path as written, and the name under which it is imported (`None` for `*` and for paths in
/// code).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Written {
    pub path: Vec<String>,
    pub name: Option<String>,
    /// `true` if the path ends in `*`.
    pub all: bool,
}

/// Returns `true` if a path starts with `crate`, `self` or `super`.
pub fn is_relative(path: &[String]) -> bool {
    ["crate", "self", "super"].contains(&path[0].as_str())
}

/// A module (a file, or a block in a file) without its children.
#[derive(Debug, Default)]
pub struct Module {
    /// Module names, starting at the root of the crate.
    pub path: Vec<String>,
    pub file: String,
    pub defines: BTreeSet<String>,
    pub imports: Vec<Written>,
    /// Paths in the module's code.
    pub mentions: BTreeSet<Vec<String>>,
}

impl Module {
    /// Returns `true` if a path in the module's code starts with the imported name.
    pub fn enters(&self, import: &Written) -> bool {
        self.mentions.iter().any(|path| import.name.as_ref() == Some(&path[0]))
    }
}

/// Returns the modules of a file: the file's own module and the module blocks in it.
pub fn modules(file: &str, path: Vec<String>, text: &str) -> Vec<Module> {
    let tokens = tokens(text);
    let mut parser = Parser { tokens: &tokens, at: 0, modules: Vec::new() };
    parser.module(file, path);
    parser.modules
}

/// Splits a text into words and punctuation; comments, strings, characters and lifetimes are
/// skipped.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 128;
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let rest = &text[at..];
        let start = at;
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if bytes[at] == b'"' {
            at = after_string(bytes, at);
        } else if bytes[at] == b'\'' {
            at = after_quote(text, at);
        } else if word(bytes[at]) {
            at += rest.bytes().take_while(|&byte| word(byte)).count();
            let hashes = text[at..].bytes().take_while(|&byte| byte == b'#').count();
            let is_raw = matches!(&text[start..at], "r" | "br" | "cr");
            match (is_raw, bytes.get(at + hashes)) {
                (true, Some(b'"')) => {
                    let end = format!("\"{}", "#".repeat(hashes));
                    let inside = at + hashes + 1;
                    let length = text[inside..].find(&end).map(|length| length + end.len());
                    at = length.map_or(text.len(), |length| inside + length);
                }
                _ => tokens.push(&text[start..at]),
            }
        } else if rest.starts_with("::") {
            at += 2;
            tokens.push("::");
        } else {
            at += 1;
            if !bytes[start].is_ascii_whitespace() {
                tokens.push(&text[start..at]);
            }
        }
    }
    tokens
}

/// Returns the offset after a string literal that starts at `start`.
fn after_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns the offset after a character literal that starts at `start`, or, if a lifetime starts
/// there, the offset after the quote.
fn after_quote(text: &str, start: usize) -> usize {
    let mut inside = text[start + 1..].chars();
    match (inside.next(), inside.next()) {
        (Some('\\'), Some(escaped)) => {
            let at = start + 2 + escaped.len_utf8();
            at + text[at..].find('\'').map_or(0, |end| end + 1)
        }
        (Some(character), Some('\'')) => start + 2 + character.len_utf8(),
        _ => start + 1,
    }
}

struct Parser<'t> {
    tokens: &'t [&'t str],
    at: usize,
    modules: Vec<Module>,
}

impl Parser<'_> {
    fn token(&self) -> &str {
        self.tokens.get(self.at).copied().unwrap_or("")
    }

    fn take(&mut self) -> String {
        self.at += 1;
        self.tokens.get(self.at - 1).copied().unwrap_or("").to_owned()
    }

    /// Reads a module up to its closing brace or the end of the file.
    fn module(&mut self, file: &str, path: Vec<String>) {
        let mut module = Module { path, file: file.to_owned(), ..Module::default() };
        while !matches!(self.token(), "" | "}") {
            self.item(&mut module, true);
        }
        self.modules.push(module);
    }

    /// Reads the next item, statement or token.
    fn item(&mut self, module: &mut Module, top: bool) {
        match self.take().as_str() {
            "#" => {
                if self.token() == "!" {
                    self.at += 1;
                }
                let attribute = self.group();
                let has = |word: &str| attribute.iter().any(|token| token == word);
                if has("cfg") && (has("test") || has("doctest")) && !has("not") {
                    self.skip();
                }
            }
            "pub" if self.token() == "(" => drop(self.group()),
            "use" => {
                self.tree(&mut Vec::new(), &mut module.imports);
            }
            "mod" => {
                let mut path = module.path.clone();
                path.push(self.take());
                if self.take() == "{" {
                    self.module(&module.file, path);
                    self.at += 1;
                }
            }
            "macro_rules" if top => {
                self.at += 1;
                module.defines.insert(self.take());
            }
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" if top => {
                module.defines.insert(self.take());
            }
            open @ ("{" | "(" | "[") => {
                let close = closing(open);
                while !matches!(self.token(), "") && self.token() != close {
                    self.item(module, false);
                }
                self.at += 1;
            }
            word if self.token() == "::" && starts_a_path(word) => {
                let mut path = vec![word.to_owned()];
                while self.token() == "::" {
                    self.at += 1;
                    if self.token().starts_with(|first: char| first.is_alphabetic() || first == '_')
                    {
                        path.push(self.take());
                    }
                }
                module.mentions.insert(path);
            }
            _ => {}
        }
    }

    /// Reads a use tree: its paths, each with the imported name.
    fn tree(&mut self, prefix: &mut Vec<String>, imports: &mut Vec<Written>) {
        let depth = prefix.len();
        loop {
            match self.take().as_str() {
                "::" => {}
                "{" => {
                    while !matches!(self.token(), "}" | "") {
                        self.tree(prefix, imports);
                        if self.token() == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    break;
                }
                "*" => {
                    imports.push(Written { path: prefix.clone(), name: None, all: true });
                    break;
                }
                word => {
                    prefix.push(word.to_owned());
                    if self.token() == "::" {
                        continue;
                    }
                    // `a::{self}` imports `a`.
                    let mut path = prefix.clone();
                    if word == "self" && path.len() > 1 {
                        path.pop();
                    }
                    let mut name = path.last().cloned();
                    if self.token() == "as" {
                        self.at += 1;
                        name = Some(self.take());
                    }
                    imports.push(Written { path, name, all: false });
                    break;
                }
            }
        }
        prefix.truncate(depth);
    }

    /// Reads a bracketed group.
    fn group(&mut self) -> Vec<String> {
        let start = self.at;
        let mut depth = 0;
        loop {
            match self.take().as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                "" => break,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let end = self.at.min(self.tokens.len());
        self.tokens[start..end].iter().map(|&token| token.to_owned()).collect()
    }

    /// Skips an item, up to its semicolon or past its block.
    fn skip(&mut self) {
        loop {
            match self.token() {
                "{" => return drop(self.group()),
                "(" | "[" => drop(self.group()),
                "" | "}" => return,
                ";" | "," => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }
}

fn closing(open: &str) -> &'static str {
    match open {
        "{" => "}",
        "(" => ")",
        _ => "]",
    }
}

fn starts_a_path(word: &str) -> bool {
    word != "Self" && word.starts_with(|first: char| first.is_alphabetic() || first == '_')
}
