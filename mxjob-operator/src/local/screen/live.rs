//! The status area at the bottom of a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::paper::Paper;

/// A status area: one indicatif bar whose message is the area's lines.
#[derive(Debug)]
pub(super) struct Live {
    paper: Paper,
    bar: ProgressBar,
    shown: bool,
}

impl Live {
    /// An empty area.
    pub(super) fn new() -> Self {
        let paper = Paper::default();
        let target = ProgressDrawTarget::term_like(Box::new(paper.clone()));
        let style = ProgressStyle::with_template("{msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        Self {
            bar: ProgressBar::with_draw_target(None, target).with_style(style),
            paper,
            shown: false,
        }
    }

    /// Shows these lines, cut to the terminal's width; none of them: no area.
    pub(super) fn show(&mut self, lines: &[String]) {
        let (width, height) = (self.paper.width(), self.paper.height());
        let fitting = lines.iter().take(usize::from(height).saturating_sub(1));
        let cut: Vec<_> = fitting
            .map(|line| console::truncate_str(line, width.into(), "…"))
            .collect();
        if !cut.is_empty() {
            self.shown = true;
            self.bar.set_message(cut.join("\n"));
            self.bar.tick();
        } else if self.shown {
            self.shown = false;
            self.bar.set_message("");
            self.bar.suspend(|| {});
        }
    }

    /// Adds text above the area. It ends in a line feed, so the terminal keeps its lines apart.
    pub(super) fn print(&self, text: &str) {
        if self.shown {
            self.bar.suspend(|| self.paper.add(text));
        } else {
            self.paper.add(text);
        }
    }

    /// Takes what is to be written.
    pub(super) fn take(&self) -> String {
        self.paper.take()
    }
}
