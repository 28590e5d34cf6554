//! Output of `learn`: a report per batch, and a summary at the end.

use std::time::Duration;

use anyhow::Result;
use hashbrook::advice;
use hashbrook::{Model, Step};
use serde_json::json;

use super::Run;
use crate::console::{self, plural};
use crate::output::Output;

impl Run<'_> {
    /// Prints the result of a batch, with --json.
    pub(super) fn report(
        &mut self,
        model: &Model,
        rows: usize,
        step: Step,
        time: Duration,
    ) -> Result<()> {
        if !self.args.json || self.unheard {
            return Ok(());
        }
        let printed = console::line(json!({
            "batch": model.batches(),
            "rows": rows,
            "seen": model.seen(),
            "seconds": time.as_secs_f64(),
            "iterations": step.changed_bits.len(),
            "changed_bits": step.changed_bits.iter().sum::<u64>(),
            "function_changed": step.function_changed,
            "warm": model.is_warm(),
        }));
        match printed {
            // Learning continues and the model is saved even if the reader of the reports is gone.
            Err(error) if console::is_broken_pipe(&error) => self.unheard = true,
            other => other?,
        }
        Ok(())
    }

    /// Returns the number of rows learned without a label.
    fn unlabelled(&self) -> usize {
        let Some(labels) = self.labels else { return self.rows };
        let learned = labels.view().slice(self.skipped..self.skipped + self.rows);
        learned.iter().filter(|labels| labels.is_empty()).count()
    }

    /// Prints a summary of all batches.
    pub(super) fn summarize(&self, model: &Model, out: &Output) -> Result<()> {
        let name = out.name();
        if self.args.json {
            return console::line(json!({
                "done": !self.interrupted,
                "rows": self.rows,
                "seen": model.seen(),
                "batches": model.batches(),
                "seconds": self.learning.as_secs_f64(),
                "warm": model.is_warm(),
                "labels": model.label_names().len(),
                "unlabelled_rows": self.unlabelled(),
                "out": name,
            }));
        }
        let rows = plural(self.rows as u64, "row");
        let labels = match self.labels {
            None => String::new(),
            Some(labels) => {
                let labels = labels.view();
                let most = (0..labels.len()).map(|row| labels.row(row).len()).max().unwrap_or(0);
                let several =
                    if most > 1 { format!(", up to {most} a row") } else { String::new() };
                let without = match self.unlabelled() {
                    0 => String::new(),
                    rows => format!(" {} without a label,", plural(rows as u64, "row")),
                };
                let labels = plural(model.label_names().len() as u64, "label");
                format!(" of {labels}{several},{without}")
            }
        };
        let bits = plural(model.bits() as u64, "bit");
        let time = console::seconds(self.learning);
        let method = model.method().name();
        out.say(format_args!("{method} learned {rows}{labels} into {bits} in {time}: {name}"))?;
        let (bits, labels) = (model.bits(), model.label_names().len());
        if method == "brook" && advice::is_short(bits, labels) {
            console::note(format_args!(
                "{bits} bits are few for {}; `hashbrook advise` with the same --data and --labels measures what longer \
                 codes give",
                plural(labels as u64, "label")
            ));
        }
        if self.interrupted {
            console::note(format_args!("to go on, run it again with --resume {name}"));
        }
        Ok(())
    }
}
