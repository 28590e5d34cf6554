//! The report as one HTML page that needs nothing else, and as Markdown with pictures.

use super::chart::escape;
use super::content::{Block, Figure, Section, Table, Value};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What a drawing looks like by itself.
const DRAWING: &str = "<style>svg{background:#fff;font:12px sans-serif}text{fill:#222}.in{fill:inherit}\
.grid{stroke:#ddd;fill:none}polyline{fill:none;stroke:currentColor;stroke-width:2}\
polyline.none{display:none}circle{fill:currentColor}.band{fill:currentColor;opacity:.15}</style>";

/// What the report says of itself.
pub struct About {
    pub title: String,
    pub lines: Vec<String>,
}

pub fn html(about: &About, sections: &[Section]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head><body>\n<header><h1>{title}</h1>\
         <button id=\"theme\" type=\"button\">light or dark</button></header>\n<nav>",
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
        for block in &section.blocks {
            page += &match block {
                Block::Text(text) => format!("<p>{}</p>\n", escape(text)),
                Block::Table(table) => html_table(table),
                Block::Figure(figure) => html_figure(figure),
            };
        }
        page += "</section>\n";
    }
    let lines: Vec<String> = about.lines.iter().map(|line| escape(line)).collect();
    page += &format!("</main>\n<footer><p>{}</p></footer>\n", lines.join("<br>\n"));
    page + &format!("<script>{SCRIPT}</script></body></html>\n")
}

fn html_table(table: &Table) -> String {
    let mut html = format!(
        "<div class=\"scroll\"><table><caption>{}</caption><thead><tr>",
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
            let tag = if at == 0 { "th scope=\"row\"" } else { "td" };
            let number = value.number.map_or(String::new(), |n| format!(" data-number=\"{n}\""));
            let shade = value.difference.map_or(String::new(), shade);
            html += &format!(
                "<{tag}{number}{shade}>{}</{}>",
                escape(&value.text),
                if at == 0 { "th" } else { "td" }
            );
        }
        html += "</tr>\n";
    }
    html + "</tbody></table></div>\n"
}

/// A tint that grows with the distance from the paper.
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

/// Text as it may stand in an address.
fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// The drawings, each with the name of its file.
pub fn drawings(sections: &[Section]) -> Vec<(String, String)> {
    let blocks = sections.iter().flat_map(|section| &section.blocks);
    let figures = blocks.filter_map(|block| match block {
        Block::Figure(figure) => Some(figure),
        _ => None,
    });
    let alone = |figure: &Figure| {
        let at = figure.svg.find('>').map_or(0, |at| at + 1);
        let (open, rest) = figure.svg.split_at(at);
        (format!("{}.svg", figure.name), format!("{open}{DRAWING}{rest}\n"))
    };
    figures.map(alone).collect()
}

pub fn markdown(about: &About, sections: &[Section]) -> String {
    let mut text = format!("# {}\n", about.title);
    for section in sections {
        text += &format!("\n## {}\n", section.title);
        if section.blocks.is_empty() {
            text += "\nThere are no results for this yet.\n";
        }
        for block in &section.blocks {
            match block {
                Block::Text(paragraph) => text += &format!("\n{paragraph}\n"),
                Block::Table(table) => text += &markdown_table(table),
                Block::Figure(figure) => {
                    text +=
                        &format!("\n![{0}](figures/{1}.svg)\n\n{0}.", figure.caption, figure.name);
                    if !figure.legend.is_empty() {
                        let names: Vec<&str> =
                            figure.legend.iter().map(|(name, _)| name.as_str()).collect();
                        text += &format!(" Lines: {}.", names.join("; "));
                    }
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
