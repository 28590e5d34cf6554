//! The printed table.

/// Rows of a table: the name of the ranking, and the measured values for each seed.
#[derive(Default)]
pub struct Table(Vec<(String, Columns)>);

/// Names of measures, each with a value per seed.
type Columns = Vec<(&'static str, Vec<f64>)>;

impl Table {
    pub fn add(&mut self, row: &str, values: &[(&'static str, f64)]) {
        let at = self.0.iter().position(|(name, _)| name == row).unwrap_or_else(|| {
            self.0.push((row.to_owned(), Vec::new()));
            self.0.len() - 1
        });
        let columns = &mut self.0[at].1;
        for (name, value) in values {
            match columns.iter_mut().find(|(column, _)| column == name) {
                Some((_, values)) => values.push(*value),
                None => columns.push((name, vec![*value])),
            }
        }
    }

    pub fn print(&self) {
        let section = |row: &str| row.split(',').next().unwrap_or_default().to_owned();
        let mut rows: Vec<_> = self.0.iter().collect();
        rows.sort_by_key(|(row, _)| self.0.iter().position(|(r, _)| section(r) == section(row)));
        for (row, columns) in rows {
            let mut line = format!("  {row:34}");
            for (name, values) in columns {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                line += &match values.len() {
                    1 => format!("  {name} {mean:.3}"),
                    _ => format!("  {name} {mean:.3} ({least:.3} {most:.3})"),
                };
            }
            println!("{line}");
        }
    }
}
