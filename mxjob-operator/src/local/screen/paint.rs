//! Colours and signs.

use std::borrow::Cow;

use console::{Color, Style, StyledObject};

/// What a text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It stands out.
    Strong,
    /// It is in the background.
    Quiet,
    /// It goes on.
    Busy,
    /// It is well.
    Good,
    /// It is not.
    Bad,
}

/// Whether there are colours and more than ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    colours: bool,
    signs: bool,
}

/// Colours of replicas, in turn. Red and green mean something.
const SOURCES: [Color; 6] = [
    Color::Cyan,
    Color::Magenta,
    Color::Yellow,
    Color::Blue,
    Color::Color256(208),
    Color::Color256(141),
];

impl Paint {
    /// As the user wants it: `NO_COLOR`, and the locale's character set.
    pub(super) fn of_terminal(terminal: bool) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|it| !it.is_empty()));
        let unicode = locale.is_none_or(|name| {
            let name = name.to_ascii_uppercase();
            name.contains("UTF-8") || name.contains("UTF8")
        });
        Self {
            colours: terminal && wanted && console::colors_enabled(),
            signs: terminal && unicode,
        }
    }

    fn style(self, text: &str, style: Style) -> StyledObject<&str> {
        style.force_styling(self.colours).apply_to(text)
    }

    /// The text in the colour of the source of that number.
    pub(crate) fn source(self, text: &str, number: usize) -> String {
        let colour = SOURCES
            .get(number % SOURCES.len())
            .copied()
            .unwrap_or(Color::Cyan);
        self.style(text, Style::new().fg(colour)).to_string()
    }

    /// The text in the colour of its meaning.
    pub(crate) fn tone(self, text: &str, tone: Tone) -> String {
        let style = match tone {
            Tone::Strong => Style::new().bold(),
            Tone::Quiet => Style::new().dim(),
            Tone::Busy => Style::new().cyan(),
            Tone::Good => Style::new().green(),
            Tone::Bad => Style::new().red().bold(),
        };
        self.style(text, style).to_string()
    }

    /// What stands between a name and its line.
    pub(crate) fn bar(self) -> char {
        if self.signs { '│' } else { '|' }
    }

    /// Between the parts of a line.
    pub(crate) fn dot(self) -> char {
        if self.signs { '·' } else { '-' }
    }

    /// There are colours.
    pub(crate) fn has_colours(self) -> bool {
        self.colours
    }

    /// There is more than ASCII.
    pub(crate) fn has_signs(self) -> bool {
        self.signs
    }

    /// A turning sign; `step` goes up with time.
    pub(crate) fn spinner(self, step: usize) -> char {
        let steps: &[char] = if self.signs {
            &['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
        } else {
            &['|', '/', '-', '\\']
        };
        steps.get(step % steps.len()).copied().unwrap_or(' ')
    }
}

/// A line without control sequences that would move the cursor out of its line; colours stay.
pub(super) fn tame(line: &str) -> Cow<'_, str> {
    if !line.contains(|character: char| character.is_control()) {
        return Cow::Borrowed(line);
    }
    let mut tamed = String::with_capacity(line.len());
    let mut coloured = false;
    let mut rest = line.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\x1b' if rest.peek() == Some(&'[') => {
                rest.next();
                let mut sequence = String::from("\x1b[");
                let end = loop {
                    match rest.next() {
                        Some(next) if ('\x40'..='\x7e').contains(&next) => break Some(next),
                        Some(next) => sequence.push(next),
                        None => break None,
                    }
                };
                if end == Some('m') {
                    coloured = true;
                    tamed.push_str(&sequence);
                    tamed.push('m');
                }
            }
            '\t' => tamed.push_str("    "),
            other if other.is_control() => {}
            other => tamed.push(other),
        }
    }
    if coloured {
        tamed.push_str("\x1b[0m");
    }
    Cow::Owned(tamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_colours_and_loses_what_moves_the_cursor() {
        assert_eq!(tame("plain ünïcode"), "plain ünïcode");
        assert_eq!(tame("a\tb\x07\x08"), "a    b");
        assert_eq!(tame("\x1b[31mred\x1b[2J\x1b[1A!"), "\x1b[31mred!\x1b[0m");
        assert_eq!(tame("cut \x1b[3"), "cut ");
    }

    #[test]
    fn without_a_terminal_there_is_plain_ascii() {
        let paint = Paint::of_terminal(false);
        assert_eq!(
            (paint.tone("bad", Tone::Bad), paint.bar(), paint.spinner(5)),
            ("bad".to_owned(), '|', '/')
        );
    }
}
