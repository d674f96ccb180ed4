//! Streaming splitter of JSON texts: hands over, one at a time, the objects under given keys, or in arrays under them.
//!
//! A text may be one document, one document per line, or a sequence of documents behind record separators (RFC 7464).
//! Only the current object is kept, so a log of any length takes little memory.

use super::log_error::LogError;

/// Largest accepted object or string in bytes; no supported tool writes a longer one.
const LONGEST: usize = 1 << 20;
/// Largest accepted nesting depth of objects and arrays.
const DEEPEST: usize = 64;

/// Object or array whose end has not been read.
#[derive(Clone, Debug)]
struct Level {
    is_array: bool,
    /// Key of the object or array; an element of an array has the key of the array.
    key: String,
}

/// Selected object whose end has not been read.
#[derive(Clone, Debug)]
struct Open {
    text: Vec<u8>,
    /// Number of objects and arrays around it.
    depth: usize,
    line: usize,
}

/// State of the splitter between two chunks of a JSON text.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    names: &'static [&'static str],
    levels: Vec<Level>,
    /// Last string read; it is a key if a colon follows.
    string: Vec<u8>,
    key: String,
    in_string: bool,
    is_escaped: bool,
    element: Option<Open>,
    line: usize,
}

impl Elements {
    /// Splitter that selects the objects under the keys `names`; the key of a whole document is the empty string.
    pub(super) fn new(names: &'static [&'static str]) -> Self {
        Self {
            names,
            levels: Vec::new(),
            string: Vec::new(),
            key: String::new(),
            in_string: false,
            is_escaped: false,
            element: None,
            line: 1,
        }
    }

    /// Reads a chunk. `take` is called with each selected object that ends in it: line at which it begins, key and
    /// text.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        take: &mut impl FnMut(usize, &str, &[u8]) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        for &byte in bytes {
            if byte == b'\n' {
                self.line += 1;
            }
            // Control characters other than white space and the record separator are no JSON (RFC 8259 section 2, RFC
            // 7464).
            if byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x1e) {
                return Err(LogError::at(self.line, format!("a byte of value {byte}: not JSON")));
            }
            if let Some(open) = &mut self.element {
                open.text.push(byte);
                if open.text.len() > LONGEST {
                    return Err(LogError::at(open.line, "an object of more than 1 MiB: no tool writes one"));
                }
            }
            if self.in_string {
                self.string(byte)?;
                continue;
            }
            match byte {
                b'"' => {
                    self.in_string = true;
                    self.string.clear();
                }
                b':' => self.key = String::from_utf8_lossy(&self.string).into_owned(),
                b',' => self.key.clear(),
                b'{' | b'[' => self.open(byte)?,
                b'}' | b']' => self.close(byte, take)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn string(&mut self, byte: u8) -> Result<(), LogError> {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => self.in_string = false,
            _ if self.element.is_some() => {}
            _ if self.string.len() > LONGEST => {
                return Err(LogError::at(self.line, "a string of more than 1 MiB: no tool writes one"));
            }
            _ => self.string.push(byte),
        }
        Ok(())
    }

    fn open(&mut self, byte: u8) -> Result<(), LogError> {
        if self.levels.len() == DEEPEST {
            return Err(LogError::at(self.line, "objects in more than 64 others: no tool writes such"));
        }
        let of_array = self.levels.last().filter(|level| level.is_array).map(|level| level.key.clone());
        let key = of_array.unwrap_or_else(|| std::mem::take(&mut self.key));
        self.key.clear();
        if byte == b'{' && self.element.is_none() && self.names.contains(&key.as_str()) {
            self.element = Some(Open { text: vec![byte], depth: self.levels.len(), line: self.line });
        }
        self.levels.push(Level { is_array: byte == b'[', key });
        Ok(())
    }

    fn close(
        &mut self,
        byte: u8,
        take: &mut impl FnMut(usize, &str, &[u8]) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        self.key.clear();
        let Some(level) = self.levels.pop().filter(|level| level.is_array == (byte == b']')) else {
            return Err(LogError::at(self.line, format!("{}: closes nothing", char::from(byte))));
        };
        if let Some(open) = self.element.take_if(|open| open.depth == self.levels.len()) {
            take(open.line, &level.key, &open.text)?;
        }
        Ok(())
    }

    /// True if the text ends inside a document, as the log of a killed program does.
    pub(super) fn is_cut(&self) -> bool {
        !self.levels.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str, size: usize) -> Result<Vec<(usize, String, String)>, LogError> {
        let mut found = Vec::new();
        let mut scanner = Elements::new(&["events", "test"]);
        for chunk in text.as_bytes().chunks(size) {
            scanner.push(chunk, &mut |line, key, text| {
                found.push((line, key.to_owned(), String::from_utf8_lossy(text).into_owned()));
                Ok(())
            })?;
        }
        Ok(found)
    }

    #[test]
    fn objects_are_found_wherever_chunks_end() {
        let text = "{\"a\": {\"b\": [1, {\"c\": 2}]},\n \"test\": {\"x\": \"}\\\"{\"},\n\"events\": [{\"t\": 1,\n\"d\": {\"events\": [{}]}}, [], {\"t\": 2}]}";
        for size in [1, 2, 7, 1000] {
            let found = elements(text, size).unwrap();
            let keys: Vec<(usize, &str)> = found.iter().map(|of| (of.0, of.1.as_str())).collect();
            assert_eq!(keys, [(2, "test"), (3, "events"), (4, "events")]);
            assert_eq!(found[0].2, "{\"x\": \"}\\\"{\"}");
            assert_eq!(found[2].2, "{\"t\": 2}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_line() {
        assert_eq!(elements("{\n]", 9).unwrap_err().to_string(), "line 2: ]: closes nothing");
        assert!(elements(&"[".repeat(100), 9).unwrap_err().to_string().contains("64 others"));
    }
}
