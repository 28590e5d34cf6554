//! Renders the report as one self-contained HTML page, and as Markdown with pictures.

use super::chart::{WIDTH, escape};
use super::content::{Block, Count, Figure, Section, Table, Value};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Style of a drawing in a file: no background, and greys that are readable on white and on dark
/// pages. Browsers take the colour scheme of a picture from the page that contains it.
const DRAWING: &str = "<style>svg{font:12px sans-serif}text{fill:#666}\
.on-dark{fill:#fff}.on-light{fill:#000}.outline{fill:none;stroke:#000;stroke-width:2}\
.outline.on-dark{stroke:#fff}.grid{stroke:#888;stroke-opacity:.35;fill:none}\
.between{stroke:currentColor;fill:none}\
polyline{fill:none;stroke:currentColor;stroke-width:2}polyline.none{display:none}\
circle,.key{fill:currentColor}circle.hollow{fill:#fff;stroke:currentColor;stroke-width:1.5}\
.band{fill:currentColor;opacity:.15}\
@media (prefers-color-scheme:dark){text{fill:#ccc}circle.hollow{fill:#1e2129}}</style>";

/// The report's description of itself.
pub struct About {
    pub title: String,
    pub subtitle: String,
    pub lines: Vec<String>,
}

pub fn html(about: &About, sections: &[Section]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head><body>\n<header><h1>{title}</h1>\
         <button id=\"theme\" type=\"button\">light or dark</button><p>{}</p></header>\n<nav>",
        escape(&about.subtitle),
        title = escape(&about.title)
    );
    for section in sections {
        page += &format!("<a href=\"#{}\">{}</a> ", section.id, escape(&section.title));
    }
    page += "</nav>\n<main>\n";
    for section in sections {
        page += &format!("<section id=\"{}\"><h2>{}</h2>\n", section.id, escape(&section.title));
        if section.blocks.is_empty() {
            page += "<p>There are no results for this yet.</p>\n";
        }
        // Consecutive tables, and consecutive figures, share a row if the page is wide enough.
        for group in section.blocks.chunk_by(|a, b| a.row().is_some() && a.row() == b.row()) {
            let row = group.first().and_then(Block::row);
            page += &row.map_or(String::new(), |row| format!("<div class=\"{row}\">\n"));
            group.iter().for_each(|block| page += &html_block(block));
            page += row.map_or("", |_| "</div>\n");
        }
        page += "</section>\n";
    }
    let lines: Vec<String> = about.lines.iter().map(|line| escape(line)).collect();
    page += &format!("</main>\n<footer><p>{}</p></footer>\n", lines.join("<br>\n"));
    page + &format!("<script>{SCRIPT}</script></body></html>\n")
}

impl Block {
    /// Returns the class of the row that contains this block, if any.
    fn row(&self) -> Option<&'static str> {
        match self {
            Block::Table(_) => Some("tables"),
            Block::Figure(_) => Some("figures"),
            _ => None,
        }
    }
}

fn html_block(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("<p>{}</p>\n", escape(text)),
        Block::Notice(text) => format!("<p class=\"notice\" role=\"note\">{}</p>\n", escape(text)),
        Block::Verdicts(counts) => {
            let chip = |Count { verdict, said, count }: &Count| {
                format!("<li><a href=\"#claims\"><b>{count}</b> {}</a></li>", badge(verdict, said))
            };
            let chips: String = counts.iter().map(chip).collect();
            format!("<ul class=\"verdicts\">{chips}</ul>\n")
        }
        Block::Table(table) => html_table(table),
        Block::Figure(figure) => html_figure(figure),
    }
}

/// Returns a verdict in words, marked by a sign and a colour.
fn badge(verdict: &str, said: &str) -> String {
    let sign = match verdict {
        "holds" => "\u{2713}",
        "holds in part" => "\u{25d0}",
        "does not hold" => "\u{2717}",
        _ => "\u{2013}",
    };
    let class = verdict.replace(' ', "-");
    format!("<span class=\"verdict {class}\"><i aria-hidden=\"true\">{sign}</i> {said}</span>")
}

fn html_table(table: &Table) -> String {
    let mut html = format!(
        "<div class=\"scroll\"><table{}><caption>{}</caption><thead><tr>",
        if table.wordy { " class=\"wordy\"" } else { "" },
        escape(&table.caption)
    );
    for column in &table.columns {
        html +=
            &format!("<th scope=\"col\"><button type=\"button\">{}</button></th>", escape(column));
    }
    html += "</tr></thead><tbody>\n";
    for row in &table.rows {
        html += "<tr>";
        for (at, value) in row.iter().enumerate() {
            let (tag, scope) = if at == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let number = value.number.map_or(String::new(), |n| format!(" data-number=\"{n}\""));
            let shade = value.difference.map_or(String::new(), shade);
            let column = match (table.wordy, table.columns.get(at)) {
                (true, Some(column)) => format!(" data-column=\"{}\"", escape(column)),
                _ => String::new(),
            };
            let text = match &value.why {
                _ if value.verdict => badge(&value.text, &value.text),
                Some(why) => {
                    format!("<abbr title=\"{}\">{}</abbr>", escape(why), escape(&value.text))
                }
                None => escape(&value.text),
            };
            html += &format!("<{tag}{scope}{number}{shade}{column}>{text}</{tag}>");
        }
        html += "</tr>\n";
    }
    html + "</tbody></table></div>\n"
}

/// Returns a tint that grows with the distance from the paper's number.
fn shade(difference: f64) -> String {
    let strength = (difference.abs() / 0.2).min(1.0) * 45.0;
    let kind = if difference >= 0.0 { "above" } else { "below" };
    format!(
        " class=\"{kind}\" style=\"--by:{strength:.0}%\" title=\"{difference:+.3} to the paper\""
    )
}

fn html_figure(figure: &Figure) -> String {
    let mut html = format!("<figure id=\"{}\">{}", figure.name, figure.svg);
    if !figure.legend.is_empty() {
        html += "<div class=\"legend\">";
        for (name, colour) in &figure.legend {
            let name = escape(name);
            html += &format!(
                "<button type=\"button\" aria-pressed=\"true\" data-toggle=\"{name}\">\
                 <i style=\"background:{colour}\"></i>{name}</button>"
            );
        }
        html += "</div>";
    }
    html += &format!(
        "<figcaption>{} <a download=\"{}.csv\" href=\"data:text/csv;charset=utf-8,{}\">data</a> \
         <code>hashbrook reproduce --only {}</code></figcaption></figure>\n",
        escape(&figure.caption),
        figure.name,
        percent(&figure.csv),
        figure.experiment
    );
    html
}

/// Percent-encodes text for a URL.
fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Returns the drawings, each with its file name.
pub fn drawings(sections: &[Section]) -> Vec<(String, String)> {
    let blocks = sections.iter().flat_map(|section| &section.blocks);
    let figures = blocks.filter_map(|block| match block {
        Block::Figure(figure) => Some(figure),
        _ => None,
    });
    figures.map(|figure| (format!("{}.svg", figure.name), alone(figure))).collect()
}

/// Returns a standalone drawing: with its style, and its legend below.
fn alone(figure: &Figure) -> String {
    const ENTRY: f64 = 20.0;
    const ACROSS: usize = 3;
    let at = figure.svg.find('>').map_or(0, |at| at + 1);
    let (open, rest) = figure.svg.split_at(at);
    let rest = rest.trim_end_matches("</svg>");
    let legend: String = figure
        .legend
        .iter()
        .enumerate()
        .map(|(at, (name, colour))| {
            let x = 20.0 + (at % ACROSS) as f64 * (WIDTH - 20.0) / ACROSS as f64;
            let y = figure.height + (at / ACROSS) as f64 * ENTRY + 10.0;
            format!(
                "<rect class=\"key\" style=\"color:{colour}\" x=\"{x:.0}\" y=\"{:.0}\" width=\"10\" \
                 height=\"10\"/><text x=\"{:.0}\" y=\"{y:.0}\">{}</text>",
                y - 9.0,
                x + 15.0,
                escape(name)
            )
        })
        .collect();
    let taller = figure.height + figure.legend.len().div_ceil(ACROSS) as f64 * ENTRY;
    let open = open.replacen(
        &format!("viewBox=\"0 0 {WIDTH} {}\"", figure.height),
        &format!("viewBox=\"0 0 {WIDTH} {taller}\""),
        1,
    );
    format!("{open}{DRAWING}{rest}{legend}</svg>\n")
}

pub fn markdown(about: &About, sections: &[Section]) -> String {
    let mut text = format!("# {}\n\n{}\n", about.title, about.subtitle);
    for section in sections {
        text += &format!("\n## {}\n", section.title);
        if section.blocks.is_empty() {
            text += "\nThere are no results for this yet.\n";
        }
        for block in &section.blocks {
            match block {
                Block::Text(paragraph) => text += &format!("\n{paragraph}\n"),
                Block::Notice(notice) => text += &format!("\n> **{notice}**\n"),
                Block::Verdicts(counts) => {
                    text += "\n";
                    for Count { said, count, .. } in counts {
                        text += &format!("- **{count}** {said}\n");
                    }
                }
                Block::Table(table) => text += &markdown_table(table),
                Block::Figure(figure) => {
                    let Figure { caption, name, .. } = figure;
                    text += &format!("\n![{caption}](figures/{name}.svg)\n\n{caption}.");
                    text += &format!(" `hashbrook reproduce --only {}`\n", figure.experiment);
                }
            }
        }
    }
    text + "\n---\n\n" + &about.lines.join("  \n") + "\n"
}

fn markdown_table(table: &Table) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let columns: Vec<String> = table.columns.iter().map(|column| cell(column)).collect();
    let mut text = format!("\n{}\n\n| {} |\n", table.caption, columns.join(" | "));
    text += &format!("|{}\n", "---|".repeat(columns.len()));
    for row in &table.rows {
        let values: Vec<String> = row.iter().map(|value: &Value| cell(&value.text)).collect();
        text += &format!("| {} |\n", values.join(" | "));
    }
    text
}
