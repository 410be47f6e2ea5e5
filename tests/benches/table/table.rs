//! The table: rows with a goal and a figure, as Markdown that is also readable as it is.
//!
//! Pure. Invariant: a figure without a goal is shown, never judged.

use std::fmt;

/// What is shown.
#[derive(Default)]
pub struct Table(Vec<Row>);

struct Row {
    what: String,
    goal: String,
    figure: String,
    verdict: &'static str,
}

/// A quantity, in its unit.
#[derive(Clone, Copy)]
pub enum Unit {
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
    /// Mebibytes.
    Mebibytes,
    /// Kibibytes.
    Kibibytes,
    /// One figure divided by another.
    Times,
    /// Instructions of the processor.
    Instructions,
}

impl Table {
    /// A figure that is to be at most `goal`.
    pub fn judged(&mut self, what: &str, unit: Unit, goal: f64, figure: f64) {
        self.0.push(Row {
            what: what.to_owned(),
            goal: format!("≤ {}", unit.show(goal)),
            figure: unit.show(figure),
            verdict: if figure <= goal { "met" } else { "missed" },
        });
    }

    /// A figure beside the others.
    pub fn plain(&mut self, what: &str, unit: Unit, figure: f64) {
        self.words(what, unit.show(figure));
    }

    /// A row that says something else.
    pub fn words(&mut self, what: &str, figure: String) {
        self.0.push(Row {
            what: what.to_owned(),
            goal: String::new(),
            figure,
            verdict: "",
        });
    }
}

impl Unit {
    fn show(self, figure: f64) -> String {
        match self {
            Unit::Micros => format!("{figure:.2} µs"),
            Unit::Millis => format!("{figure:.1} ms"),
            Unit::Mebibytes => format!("{figure:.1} MiB"),
            Unit::Kibibytes => format!("{figure:.1} KiB"),
            Unit::Times => format!("{figure:.2} ×"),
            Unit::Instructions => format!("{figure:.0}"),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["what", "goal", "figure", ""].map(str::to_owned);
        let rows = self.0.iter().map(|row| {
            [
                row.what.clone(),
                row.goal.clone(),
                row.figure.clone(),
                row.verdict.to_owned(),
            ]
        });
        let rows: Vec<[String; 4]> = [head].into_iter().chain(rows).collect();
        let width = |at: usize| {
            rows.iter()
                .map(|row| row[at].chars().count())
                .max()
                .unwrap_or(0)
        };
        let [what, goal, figure, verdict] = [0, 1, 2, 3].map(width);
        for (at, [a, b, c, d]) in rows.iter().enumerate() {
            writeln!(f, "| {a:what$} | {b:goal$} | {c:>figure$} | {d:verdict$} |")?;
            if at == 0 {
                let line = |width: usize| "-".repeat(width);
                let (a, b, c, d) = (line(what), line(goal), line(figure - 1), line(verdict));
                writeln!(f, "| {a} | {b} | {c}: | {d} |")?;
            }
        }
        Ok(())
    }
}

/// The value below which a share (0 to 1) of all lies.
///
/// # Panics
/// When there is none.
pub fn share(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}
