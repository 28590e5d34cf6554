//! Terminal output: errors, tables, progress.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::interrupt::Interrupted;

/// Prints an error with all its causes, and returns the exit status.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if error.is::<Interrupted>() {
        eprintln!("hashbrook: interrupted");
        return ExitCode::from(130);
    }
    // A reader that closes the pipe early, as in `hashbrook ... | head`, is not a failure.
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    eprintln!("hashbrook: {error:#}");
    if let Some(hint) = hint(error) {
        eprintln!("hashbrook: {hint}");
    }
    ExitCode::FAILURE
}

/// Returns advice on an error of the library, in terms of the command line.
fn hint(error: &anyhow::Error) -> Option<&'static str> {
    match error.downcast_ref()? {
        hashbrook::Error::CannotLock { .. } => Some("--no-lock goes on without a lock"),
        _ => None,
    }
}

/// Returns whether the reader of the output has closed the pipe.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref()).any(broken)
}

/// Prints a note that is not part of the result, on the standard error.
pub fn note(text: impl std::fmt::Display) {
    eprintln!("hashbrook: {text}");
}

/// Prints a line of the result.
pub fn line(text: impl std::fmt::Display) -> anyhow::Result<()> {
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Prints names and values, aligned.
pub fn pairs<N: AsRef<str>>(rows: &[(N, String)]) -> anyhow::Result<()> {
    let width = rows.iter().map(|(name, _)| name.as_ref().chars().count()).max().unwrap_or(0);
    for (name, value) in rows {
        line(format_args!("{:width$}  {value}", name.as_ref()))?;
    }
    Ok(())
}

/// Formats a number with separators between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count of something, with a regular plural.
pub fn plural(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Formats a duration with a precision that suits its size.
pub fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..0.01 => format!("{:.2} ms", 1000.0 * seconds),
        ..10.0 => format!("{seconds:.2} s"),
        _ => format!("{seconds:.1} s"),
    }
}

/// Creates a progress bar over rows; hidden unless the standard error is a terminal.
pub fn progress(what: &str, rows: Option<usize>) -> ProgressBar {
    let bar = match rows {
        Some(rows) => ProgressBar::new(rows as u64).with_style(style(
            "{prefix} {bar:32} {human_pos}/{human_len} rows  {rate}/s  {eta} left",
        )),
        None => ProgressBar::no_length()
            .with_style(style("{prefix} {spinner} {human_pos} rows  {rate}/s")),
    };
    on_terminal(bar, what)
}

fn on_terminal(bar: ProgressBar, what: &str) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    bar.set_draw_target(target);
    bar.with_prefix(what.to_owned())
}

/// Creates a progress bar over a number of steps; hidden unless the standard error is a terminal.
pub fn steps(what: &str, count: usize) -> ProgressBar {
    let style = style("{prefix} {bar:32} {pos}/{len}  {eta} left  {msg}");
    on_terminal(ProgressBar::new(count as u64).with_style(style), what)
}

fn style(template: &str) -> ProgressStyle {
    let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        out.write_str(&count(state.per_sec() as u64)).expect("a string takes any text");
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", rate)
}

/// Describes this machine, for reports.
pub fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?.to_owned();
        line.split(':').nth(1).map(|name| name.trim().to_owned())
    });
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    cpu.map_or(system.clone(), |cpu| format!("{cpu}, {system}"))
}

/// Returns the current date in UTC.
pub fn today() -> String {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let (year, month, day) = civil((since.as_secs() / 86_400) as i64);
    format!("{year}-{month:02}-{day:02}")
}

/// Converts days since 1970 to a date, by counting years of 365.2425 days that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let leaps = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_are_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_772), (2026, 11, 15));
    }
}
