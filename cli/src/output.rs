//! Files that commands write, or the standard output in their place.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hashbrook::dataset::file_of;
use hashbrook::file;
use tempfile::TempDir;

use crate::{console, interrupt};

/// File name that means the standard input or output.
const STANDARD: &str = "-";

/// Returns whether a path means the standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// Destination of a command's result: a file, or the standard output for `-`.
pub struct Output {
    path: PathBuf,
    /// Temporary directory of the result, if it goes to the standard output.
    directory: Option<TempDir>,
}

impl Output {
    /// Prepares an output; fails if it is not writable, before the work is done.
    pub fn new(out: &Path) -> Result<Output> {
        if !is_standard(out) {
            file::check_writable(out)?;
            return Ok(Output { path: out.to_path_buf(), directory: None });
        }
        let directory = tempfile::tempdir().context("a directory for the output cannot be made")?;
        interrupt::remove_at_end(directory.path());
        Ok(Output { path: directory.path().join("output"), directory: Some(directory) })
    }

    /// Returns the path to write to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the output is the standard output.
    pub fn is_standard(&self) -> bool {
        self.directory.is_some()
    }

    /// Returns the name of the output in messages.
    pub fn name(&self) -> String {
        match self.directory {
            None => self.path.display().to_string(),
            Some(_) => "the standard output".to_owned(),
        }
    }

    /// Copies the result to the standard output, if that is its destination.
    pub fn finish(&self) -> Result<()> {
        if self.directory.is_some() {
            let mut written = File::open(&self.path)?;
            let mut out = std::io::stdout().lock();
            std::io::copy(&mut written, &mut out)?;
            // Without an explicit flush, a failure to write the last buffer would go unnoticed.
            out.flush()?;
        }
        Ok(())
    }

    /// Prints a message: on the standard error if the result goes to the standard output.
    pub fn say(&self, text: impl std::fmt::Display) -> Result<()> {
        match self.directory {
            None => console::line(text),
            Some(_) => {
                console::note(text);
                Ok(())
            }
        }
    }
}

/// Fails if JSON would be printed on the same output as the result.
pub fn check_json(out: &Path, json: bool) -> Result<()> {
    if json && is_standard(out) {
        bail!("--json and --out - both write to the standard output; leave out one of them");
    }
    Ok(())
}

/// Fails if a file name has the extension of a format that the output cannot be written in.
pub fn check_name(out: &Path, what: &str, formats: &[&str]) -> Result<()> {
    /// Extensions of data files; other extensions are accepted.
    const KNOWN: [&str; 18] = [
        "arrow", "bvecs", "csv", "feather", "fvecs", "gz", "h5", "hdf5", "ivecs", "json", "jsonl",
        "mat", "npy", "npz", "parquet", "tsv", "txt", "zip",
    ];
    let ending = out.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if !KNOWN.contains(&ending.as_str()) || formats.contains(&ending.as_str()) {
        return Ok(());
    }
    let formats: Vec<String> = formats.iter().map(|format| format!(".{format}")).collect();
    bail!(
        "{what} are not written as .{ending}, but as {}; choose such a name in place of {}",
        formats.join(", "),
        out.display()
    )
}

/// Fails if an output exists already, unless it may be replaced.
pub fn check_free<'a>(outputs: impl IntoIterator<Item = &'a Path>, force: bool) -> Result<()> {
    for output in outputs {
        if !force && !is_standard(output) && output.symlink_metadata().is_ok() {
            bail!("{} is there already; --force replaces it", output.display());
        }
    }
    Ok(())
}

/// Fails if a model or an index is also given as another input.
pub fn check_given_once<'a>(
    models: impl IntoIterator<Item = &'a Path>,
    inputs: impl IntoIterator<Item = &'a String>,
) -> Result<()> {
    let mut taken = Vec::new();
    for input in inputs {
        taken.extend(real_place(&file_of(input)?));
    }
    for model in models {
        let Some(place) = real_place(model) else { continue };
        if taken.contains(&place) {
            bail!("{} is given twice, as different things", model.display());
        }
        taken.push(place);
    }
    Ok(())
}

/// Fails if the standard input is given more than once.
pub fn check_read_once<'a>(inputs: impl IntoIterator<Item = &'a String>) -> Result<()> {
    let mut piped = false;
    for input in inputs {
        if is_standard(&file_of(input)?) && std::mem::replace(&mut piped, true) {
            bail!("- is given twice, and the standard input can be read once");
        }
    }
    Ok(())
}

/// Fails if an output would replace one of the inputs or another output, or if the standard input
/// is given more than once.
pub fn check_outputs<'a>(
    outputs: impl IntoIterator<Item = &'a Path>,
    inputs: impl IntoIterator<Item = &'a String> + Clone,
) -> Result<()> {
    check_read_once(inputs.clone())?;
    check_places(outputs, inputs)
}

/// Fails if an output would replace one of the inputs, or another output.
pub fn check_places<'a>(
    outputs: impl IntoIterator<Item = &'a Path>,
    inputs: impl IntoIterator<Item = &'a String>,
) -> Result<()> {
    let mut taken: Vec<PathBuf> = Vec::new();
    for input in inputs {
        taken.extend(real_place(&file_of(input)?));
    }
    for output in outputs {
        let Some(place) = real_place(output) else { continue };
        if taken.contains(&place) {
            bail!(
                "{} is read or written by this very command; choose another name for the output",
                output.display()
            );
        }
        taken.push(place);
    }
    Ok(())
}

/// Returns the canonical path of a file that exists or will be written; `None` for pipes and the
/// like.
fn real_place(path: &Path) -> Option<PathBuf> {
    if is_standard(path) {
        return None;
    }
    if let Ok(place) = path.canonicalize() {
        return Some(place);
    }
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new(".")).canonicalize().ok();
    Some(
        directory
            .zip(path.file_name())
            .map_or(path.to_path_buf(), |(directory, name)| directory.join(name)),
    )
}
