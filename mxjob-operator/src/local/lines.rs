//! Cuts what a child prints into lines.

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc::Sender;

/// Longest piece of a line, in bytes: a program that never ends its lines must not fill the memory.
pub(super) const LONGEST: usize = 64 * 1024;

/// Bytes on their way to being lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// Takes in bytes; gives the lines that they end.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            self.rest.extend_from_slice(line);
            self.cut(&mut lines);
            lines.push(text(&std::mem::take(&mut self.rest)));
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.rest.extend_from_slice(bytes);
        self.cut(&mut lines);
        lines
    }

    /// What was left without an end.
    pub(super) fn end(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.rest);
        (!rest.is_empty()).then(|| text(&rest))
    }

    fn cut(&mut self, lines: &mut Vec<String>) {
        while self.rest.len() > LONGEST {
            let piece: Vec<u8> = self.rest.drain(..character_boundary(&self.rest)).collect();
            lines.push(text(&piece));
        }
    }
}

/// The last place up to [`LONGEST`] that does not split a UTF-8 character.
fn character_boundary(bytes: &[u8]) -> usize {
    let continues = |at: usize| {
        bytes
            .get(at)
            .is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000)
    };
    (LONGEST - 3..=LONGEST)
        .rev()
        .find(|at| !continues(*at))
        .unwrap_or(LONGEST)
}

/// The text of a line. Of a line that a progress bar has overwritten, what was written last.
fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let last = line.rsplit(|byte| *byte == b'\r').next().unwrap_or(line);
    String::from_utf8_lossy(last).into_owned()
}

/// Reads `from` to its end and sends its lines, as many at once as there are.
pub(super) async fn pump<M>(
    mut from: impl AsyncRead + Unpin,
    to: Sender<M>,
    wrap: impl Fn(Vec<String>) -> M,
) {
    let mut lines = Lines::default();
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        let read = buffer.get(..count).unwrap_or_default();
        let ready = if count == 0 {
            lines.end().into_iter().collect()
        } else {
            lines.push(read)
        };
        let closed = !ready.is_empty() && to.send(wrap(ready)).await.is_err();
        if count == 0 || closed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_are_read() {
        let mut lines = Lines::default();
        assert!(lines.push(b"ep").is_empty());
        assert_eq!(
            lines.push(b"och 1\nepoch 2\r\n\nepo"),
            ["epoch 1", "epoch 2", ""]
        );
        assert_eq!(lines.end().as_deref(), Some("epo"));
        assert_eq!(lines.end(), None);
    }

    #[test]
    fn of_a_progress_bar_its_last_state() {
        assert_eq!(Lines::default().push(b"\r10 %\r50 %\r100 %\n"), ["100 %"]);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_it() {
        assert_eq!(Lines::default().push(b"a\xffb\n"), ["a\u{fffd}b"]);
    }

    #[test]
    fn an_endless_line_is_cut_between_characters() {
        let mut lines = Lines::default();
        let endless = "é".repeat(LONGEST);
        let pieces = lines.push(format!("x{endless}").as_bytes());
        assert_eq!(pieces.len(), 2);
        assert!(
            pieces
                .iter()
                .all(|piece| piece.len() <= LONGEST && !piece.contains('\u{fffd}'))
        );
        let all = pieces.concat() + &lines.end().unwrap();
        assert_eq!(all, format!("x{endless}"));
    }
}
