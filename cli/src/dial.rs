//! Weights of bits: the options that `eval` and `search` share.

use anyhow::{Result, bail};
use hashbrook::{Dial, HashFunction};

use crate::console;

#[derive(clap::Args)]
pub struct DialArgs {
    /// What a label bit counts, of codes that have detail bits as well: distances are the sums of the
    /// weights of the bits that differ, rather than their number, and radii are such sums, too
    #[arg(long, value_name = "N", default_value_t = 1)]
    label_weight: u32,

    /// What a detail bit counts
    #[arg(long, value_name = "N", default_value_t = 1)]
    detail_weight: u32,

    /// Do not cut queries to bits: multiply the weight of each bit by how sure the query is of it.
    /// Distances, and radii, are then in steps of 1/64 of a bit
    #[arg(long)]
    float_query: bool,
}

impl DialArgs {
    /// Returns the dial, or `None` if every bit has weight 1.
    pub fn dial(&self) -> Result<Option<Dial>> {
        let dial = Dial::new(self.label_weight, self.detail_weight)?.float_query(self.float_query);
        let plain = self.label_weight == 1 && self.detail_weight == 1 && !self.float_query;
        Ok((!plain).then_some(dial))
    }

    pub fn is_float_query(&self) -> bool {
        self.float_query
    }

    /// Warns if the codes have no detail bits to weight against label bits; fails if such codes
    /// have label bits of weight 0, because no bit would count.
    pub fn check(&self, function: &HashFunction) -> Result<()> {
        if function.label_bits() < function.bits() || self.dial()?.is_none() {
            return Ok(());
        }
        if self.label_weight == 0 {
            bail!(
                "these codes have no detail bits, and --label-weight 0 leaves nothing to rank by"
            );
        }
        if !self.float_query {
            console::note("these codes have no detail bits: all bits weigh the same");
        }
        Ok(())
    }
}
