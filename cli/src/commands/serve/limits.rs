//! Limits of client requests.

use std::time::Duration;

use super::errors::Problem;

#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// The largest body of a request, also once it is unpacked, in bytes or with KB, MB or GB [default: 64MB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64MB", hide_default_value = true)]
    pub max_body: usize,

    /// The most bytes of items in one answer, or with KB, MB or GB: a page of items ends with the item that
    /// reaches it, and search results whose payloads are larger are refused (422) [default: 16MB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "16MB", hide_default_value = true)]
    pub max_answer: usize,

    /// The most results for one query
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub max_k: usize,

    /// The most items, or queries, in one request
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub max_batch: usize,

    /// How many requests that take more than a moment are worked on at a time; others are told to come
    /// again (429)
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = parse_count)]
    pub max_concurrent: usize,

    /// How many seconds a request may take to arrive (408), and to be answered (503); a client that reads nothing
    /// of its answer for as long is disconnected
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = parse_seconds)]
    pub timeout: Duration,
}

impl Limits {
    /// Maximum total number of results of a request's queries, which are all in memory at once.
    const RESULTS: usize = 1_000_000;

    pub fn check_items(&self, items: usize) -> Result<(), Problem> {
        self.check("items", items, self.max_batch, "--max-batch")
    }

    /// Fails if a request could return more results than allowed.
    pub fn check_results(&self, queries: usize, k: usize) -> Result<(), Problem> {
        self.check("queries", queries, self.max_batch, "--max-batch")?;
        self.check("k", k, self.max_k, "--max-k")?;
        let most = Limits::RESULTS.max(self.max_k);
        if queries.saturating_mul(k) > most {
            return Err(Problem::unprocessable(format!(
                "{queries} queries with {k} results each are {} in all; up to {most} are given at once",
                queries.saturating_mul(k)
            )));
        }
        Ok(())
    }

    fn check(&self, what: &str, found: usize, most: usize, option: &str) -> Result<(), Problem> {
        if found <= most {
            return Ok(());
        }
        Err(Problem::unprocessable(format!(
            "{what}: {found} is more than the {most} that are allowed at once ({option})"
        )))
    }
}

fn parse_count(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&count| (1..=100_000).contains(&count))
        .ok_or_else(|| "a whole number from 1 to 100000 was expected".to_owned())
}

/// Parses a number of bytes, with or without a unit.
fn parse_size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        _ => return Err("units are KB, MB and GB".to_owned()),
    };
    let number: Option<usize> = digits.trim().parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(unit)).filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| "a size such as 64MB was expected".to_owned())
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    let seconds = seconds.map(Duration::from_secs_f64);
    seconds.ok_or_else(|| "a number of seconds from 0.01 to 86400 was expected".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("64MB"), Ok(64 << 20));
        assert_eq!(parse_size("5"), Ok(5));
        assert_eq!(parse_size("1 kb"), Ok(1024));
        for wrong in ["", "MB", "0", "-1", "1.5MB", "5XB", "99999999999GB", "5é"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
