//! [`Settings`]: how a store is run, which may differ each time it is opened.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, SearchStructure};

/// When the codes of all items are made anew by what was learned meanwhile.
///
/// It is written `always`, `every:5000`, `gain:0.02` and `never`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Renewal {
    /// Whenever the function has changed and no renewal is running.
    Always,
    /// When so many rows were learned since the last.
    Every(u64),
    /// When it pays: when distances among a sample of items would report more of whether two items share a label, by this
    /// share of all there is to know (mutual information over entropy, so that 2 labels and 100,000 compare). Among
    /// items without labels, when this share of bits would change.
    ///
    /// Whatever the gain, items are re-encoded once the function has learned twice as many rows as the one in use, and
    /// once there is nothing more to learn if the one in use does not know a twentieth of the rows.
    Gain(f64),
    /// Only when [told to](super::Store::renew).
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

/// How a store is run. There may be more fields one day: begin with the default.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// When codes are made anew.
    pub renewal: Renewal,
    /// Time without anything new to learn after which all items are re-encoded, however little that gains. Not under
    /// [`Renewal::Never`].
    pub catch_up_after: Duration,
    /// The share of one processor core that making codes anew may take, above 0 and up to 1.
    pub renewal_share: f64,
    /// Whether labelled items are learned from.
    pub learn: bool,
    /// The share of the journal's bytes that no item needs, above which they are reclaimed in the background; from 0
    /// to 1, where 1 never reclaims any.
    pub compaction: f64,
    /// Number of bytes that no item needs, below which none are reclaimed.
    pub compaction_bytes: u64,
    /// Search structure of the index. A smaller one than before takes effect at once, a larger one with the next
    /// re-encoding.
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
    /// Fails if no store can be run so.
    ///
    /// # Errors
    /// When a share is out of range.
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
