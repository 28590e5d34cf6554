//! [`Settings`]: options of running a store, which may differ each time it is opened.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, SearchStructure};

/// Policy that decides when all items are re-encoded with the function learned so far.
///
/// The string forms are `always`, `every:5000`, `gain:0.02` and `never`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Renewal {
    /// Re-encode whenever the function has changed and no re-encoding is running.
    Always,
    /// Re-encode when this number of rows was learned since the last re-encoding.
    Every(u64),
    /// Re-encode when the gain on a sample of items is at least this value. The gain is the
    /// additional information that distances would carry about whether two items share a label. It
    /// is a share of the maximum (mutual information over entropy), so that 2 labels and 100,000
    /// labels are comparable. Among items without labels, the gain is the share of bits that would
    /// flip.
    ///
    /// Regardless of the gain, items are also re-encoded in these cases:
    ///
    /// - The new function has learned twice as many rows as the function in use.
    /// - Nothing is left to learn, and the function in use lacks at least a twentieth of the rows.
    Gain(f64),
    /// Re-encode only when [requested](super::Store::renew).
    Never,
}

impl Default for Renewal {
    fn default() -> Self {
        Renewal::Gain(0.02)
    }
}

impl FromStr for Renewal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::parameter(
                "renewal",
                "always, every:ROWS, gain:SHARE (above 0 and up to 1) or never",
                format!("{text:?}"),
            )
        };
        match text.split_once(':') {
            None if text == "always" => Ok(Renewal::Always),
            None if text == "never" => Ok(Renewal::Never),
            Some(("every", rows)) => match rows.parse() {
                Ok(rows) if rows > 0 => Ok(Renewal::Every(rows)),
                _ => Err(wrong()),
            },
            Some(("gain", least)) => match least.parse() {
                Ok(least) if least > 0.0 && least <= 1.0 => Ok(Renewal::Gain(least)),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

impl std::fmt::Display for Renewal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Renewal::Always => f.write_str("always"),
            Renewal::Every(rows) => write!(f, "every:{rows}"),
            Renewal::Gain(least) => write!(f, "gain:{least}"),
            Renewal::Never => f.write_str("never"),
        }
    }
}

impl TryFrom<String> for Renewal {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Renewal> for String {
    fn from(renewal: Renewal) -> String {
        renewal.to_string()
    }
}

/// Options of running a store. Later versions may add fields: start from the default.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Policy that decides when all items are re-encoded.
    pub renewal: Renewal,
    /// Time without anything new to learn after which all items are re-encoded, regardless of the
    /// gain. Ignored under [`Renewal::Never`].
    pub catch_up_after: Duration,
    /// Share of one processor core that re-encoding may take, above 0 and up to 1.
    pub renewal_share: f64,
    /// Whether the store learns from labelled items.
    pub learn: bool,
    /// Share of dead bytes in the journal (bytes that no item needs) above which they are reclaimed
    /// in the background. The range is 0 to 1; with 1, bytes are never reclaimed.
    pub compaction: f64,
    /// Number of dead bytes in the journal below which none are reclaimed.
    pub compaction_bytes: u64,
    /// Search structure of the index. A smaller structure than before takes effect at once, a
    /// larger one with the next re-encoding.
    pub structure: SearchStructure,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            renewal: Renewal::default(),
            catch_up_after: Duration::from_secs(60),
            renewal_share: 0.5,
            learn: true,
            compaction: 0.5,
            compaction_bytes: 16 << 20,
            structure: SearchStructure::default(),
        }
    }
}

impl Settings {
    /// Fails if the settings are invalid.
    ///
    /// # Errors
    /// Fails if a share is out of range.
    pub fn check(&self) -> Result<()> {
        let share = self.renewal_share;
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::parameter("renewal_share", "above 0 and up to 1", share));
        }
        if !(0.0..=1.0).contains(&self.compaction) {
            return Err(Error::parameter("compaction", "from 0 to 1", self.compaction));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_written_as_they_are_read() {
        for text in ["always", "every:5000", "gain:0.02", "never"] {
            assert_eq!(text.parse::<Renewal>().unwrap().to_string(), text);
        }
        for text in ["", "every", "every:0", "every:-1", "gain:0", "gain:2", "gain:x", "sometimes"]
        {
            let error = text.parse::<Renewal>().unwrap_err().to_string();
            assert!(error.contains("every:ROWS"), "{text}: {error}");
        }
    }
}
