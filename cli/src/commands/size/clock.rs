//! Measurement of processor time, which other work on the machine does not affect.

use std::time::Instant;

/// Measures the processor time of this process, or the elapsed time if the system does not report
/// it.
pub struct Clock {
    start: Instant,
    from: Option<u64>,
}

/// Ticks of processor time per second, the same on every machine that Linux is built for.
const TICKS: f64 = 100.0;

impl Clock {
    pub fn start() -> Clock {
        Clock { from: ticks(), start: Instant::now() }
    }

    /// Returns the elapsed seconds.
    pub fn passed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Returns the seconds of processor time of all threads, with a resolution of 10 ms.
    pub fn seconds(&self) -> f64 {
        match self.from.zip(ticks()) {
            Some((from, to)) => to.saturating_sub(from) as f64 / TICKS,
            None => self.passed(),
        }
    }
}

/// Returns the ticks of all running and ended threads, in user and system mode.
fn ticks() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program is in brackets, and may contain any character.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_counts_on_whatever_thread_it_is_done() {
        let clock = Clock::start();
        let work = || {
            let own = Instant::now();
            let mut sum = 0u64;
            while own.elapsed().as_secs_f64() < 0.3 {
                (0..100_000u64).for_each(|at| sum = std::hint::black_box(sum ^ at));
            }
        };
        work();
        let alone = clock.seconds();
        // Next to other work, processor time may be much less than elapsed time.
        assert!(alone >= 0.02, "{alone}");
        std::thread::scope(|scope| drop(scope.spawn(work)));
        assert!(clock.seconds() >= alone + 0.02, "threads that have ended count");
        if cfg!(target_os = "linux") {
            assert!(ticks().is_some(), "Linux tells it");
        }
    }
}
