//! What an error says of a text that somebody else has written.

/// The most characters that an error quotes of a text.
const LONGEST: usize = 80;

/// `text` in quotation marks, control characters escaped, cut after 80 characters: a cell may be as long as its file.
pub fn excerpt(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(excerpt("1,2"), "\"1,2\"");
        assert_eq!(excerpt("a\nb"), "\"a\\nb\"");
        assert_eq!(excerpt(&"ä".repeat(80)), format!("\"{}\"", "ä".repeat(80)));
        assert_eq!(excerpt(&"ä".repeat(5_000_000)), format!("\"{}\"...", "ä".repeat(80)));
    }
}
