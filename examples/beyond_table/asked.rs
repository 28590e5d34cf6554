//! Arguments of the command.

use hashbrook::Method;

use crate::Failure;
use crate::sets::SETS;

/// Requested experiments and their parameters.
pub struct Asked {
    pub directory: String,
    pub sets: Vec<String>,
    pub sections: Vec<String>,
    pub references: Vec<String>,
    pub seeds: u64,
    pub bits: usize,
    pub parameters: Vec<(String, String)>,
}

impl Asked {
    pub fn read() -> Result<Asked, Failure> {
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let mut words = std::env::args().skip(1);
        let mut asked = Asked {
            directory: words.next().ok_or("usage: beyond_table DIRECTORY [NAME=VALUE ...]")?,
            sets: SETS.iter().map(|set| set.name.to_owned()).collect(),
            sections: list("paper,kept-out,neighbours,unseen,dial,incremental"),
            references: list("lsh,itq,cosine"),
            seeds: 3,
            bits: 64,
            parameters: Vec::new(),
        };
        for word in words {
            let (name, value) =
                word.split_once('=').ok_or(format!("{word} is not of the form NAME=VALUE"))?;
            match name {
                "sets" => asked.sets = list(value),
                "sections" => asked.sections = list(value),
                "references" => asked.references = list(value),
                "seeds" => asked.seeds = value.parse()?,
                "bits" => asked.bits = value.parse()?,
                _ => asked.parameters.push((name.to_owned(), value.to_owned())),
            }
        }
        Ok(asked)
    }

    pub fn wants(&self, section: &str) -> bool {
        self.sections.iter().any(|asked| asked == section)
    }

    pub fn refers_to(&self, reference: &str) -> bool {
        self.references.iter().any(|asked| asked == reference)
    }

    pub fn brook(&self, more: &[(&str, &str)]) -> Result<Method, Failure> {
        let mut method = Method::named("brook")?;
        let given = self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in given.chain(more.iter().copied()) {
            method.set(name, value)?;
        }
        Ok(method)
    }
}
