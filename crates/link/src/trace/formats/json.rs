//! Reader of JSON texts that arrive in chunks: elements of one long list are passed on as soon as each is complete, and
//! the rest at the end.

use crate::trace::TraceError;
use crossfade_core::excerpt;

/// Greatest depth of nested lists and tables.
const DEEPEST: usize = 64;
/// Greatest number of bytes in a string, a name or a number.
const LONGEST: usize = 1 << 20;
/// Greatest number of values kept at a time.
const MOST: usize = 1 << 20;
/// Name of the list whose elements are passed on one by one: `{NAME: {"pattern": [...]}}`.
const LONG_LIST: &str = "pattern";

/// A value of a JSON or TOML text, and the number of the line in which it begins.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) line: usize,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Truth(bool),
    Number(f64),
    Text(String),
    List(Vec<Tree>),
    Table(Vec<(String, Tree)>),
}

impl Tree {
    pub(super) fn new(line: usize, value: Value) -> Self {
        Self { line, value }
    }

    /// Creates an error in the line in which the value begins.
    pub(super) fn refuse(&self, problem: impl Into<String>) -> TraceError {
        TraceError::at(self.line, problem)
    }

    /// Value under a name, if this value is a table that has it.
    pub(super) fn get(&self, name: &str) -> Option<&Tree> {
        match &self.value {
            Value::Table(rows) => rows.iter().find(|(known, _)| known == name).map(|(_, tree)| tree),
            _ => None,
        }
    }

    /// Name and value of the only row, if this value is a table with a single row.
    pub(super) fn only(&self) -> Option<(&str, &Tree)> {
        match &self.value {
            Value::Table(rows) => match rows.as_slice() {
                [(name, tree)] => Some((name, tree)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The number, if this value is one.
    pub(super) fn number(&self) -> Option<f64> {
        if let Value::Number(number) = self.value { Some(number) } else { None }
    }

    /// Short form of the value for error messages.
    pub(super) fn shown(&self) -> String {
        match &self.value {
            Value::Null => "null".to_owned(),
            Value::Truth(truth) => truth.to_string(),
            Value::Number(number) if number.abs() >= 1e16 => format!("{number:e}"),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => excerpt(text),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }
}

/// A list or table that is not complete yet, and the number of the line in which it begins.
enum Open {
    List(usize, Vec<Tree>),
    Table(usize, Vec<(String, Tree)>, Option<String>),
}

/// Token that may come next in a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Name,
    NameOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// Token that is being read from a JSON text.
enum Token {
    None,
    /// A string so far, and true if the last character was an escaping backslash.
    Text(Vec<u8>, bool),
    /// A number so far, or a word such as `true`.
    Word(Vec<u8>),
}

/// State of reading a JSON text.
pub(super) struct Json {
    open: Vec<Open>,
    expect: Expect,
    token: Token,
    line: usize,
    /// Number of bytes of a byte order mark so far; 3 once any other byte has come.
    mark: usize,
    kept: usize,
    root: Option<Tree>,
}

impl Default for Json {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            expect: Expect::Value,
            token: Token::None,
            line: 1,
            mark: 0,
            kept: 0,
            root: None,
        }
    }
}

impl Json {
    /// Takes the next bytes; `take` receives the name of the table and each element of the long list.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        take: &mut dyn FnMut(&str, Tree) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        for &byte in bytes {
            if self.is_mark(byte) {
                continue;
            }
            self.byte(byte, take)?;
            self.line += usize::from(byte == b'\n');
        }
        Ok(())
    }

    /// True if a byte belongs to a byte order mark at the start of the text.
    fn is_mark(&mut self, byte: u8) -> bool {
        const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
        let is_next = MARK.get(self.mark) == Some(&byte);
        self.mark = if is_next { self.mark + 1 } else { MARK.len() };
        is_next
    }

    /// Value of the whole text, without the list elements passed on before.
    pub(super) fn finish(
        &mut self,
        take: &mut dyn FnMut(&str, Tree) -> Result<(), TraceError>,
    ) -> Result<Tree, TraceError> {
        if let Token::Word(word) = std::mem::replace(&mut self.token, Token::None) {
            let value = self.word(&word)?;
            self.value(Tree::new(self.line, value), take)?;
        }
        self.root.take().ok_or_else(|| self.refuse("the JSON text ends too early"))
    }

    fn refuse(&self, problem: &str) -> TraceError {
        TraceError::at(self.line, problem)
    }

    fn byte(
        &mut self,
        byte: u8,
        take: &mut dyn FnMut(&str, Tree) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        match &mut self.token {
            Token::Text(text, escaped) => {
                if text.len() > LONGEST {
                    return Err(self.refuse("a text of more than 1 MiB: no trace has one"));
                }
                match (byte, *escaped) {
                    (b'"', false) => {
                        let text = std::mem::take(text);
                        self.token = Token::None;
                        let text = self.text(&text)?;
                        return self.text_is_whole(text, take);
                    }
                    (0..=0x1f, _) => return Err(self.refuse("a text is not closed in its line")),
                    _ => {}
                }
                *escaped = byte == b'\\' && !*escaped;
                text.push(byte);
                return Ok(());
            }
            Token::Word(word) => {
                if byte.is_ascii_alphanumeric() || b"+-.".contains(&byte) {
                    if word.len() > LONGEST {
                        return Err(self.refuse("a number of more than 1 MiB: no trace has one"));
                    }
                    word.push(byte);
                    return Ok(());
                }
                let word = std::mem::take(word);
                self.token = Token::None;
                let value = self.word(&word)?;
                self.value(Tree::new(self.line, value), take)?;
            }
            Token::None => {}
        }
        self.between(byte, take)
    }

    /// Takes a byte outside of strings and words.
    fn between(
        &mut self,
        byte: u8,
        take: &mut dyn FnMut(&str, Tree) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let value_may_come = matches!(self.expect, Expect::Value | Expect::ValueOrEnd);
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' if value_may_come || matches!(self.expect, Expect::Name | Expect::NameOrEnd) => {
                self.token = Token::Text(Vec::new(), false);
            }
            b'{' | b'[' if value_may_come => {
                if self.open.len() >= DEEPEST {
                    return Err(self.refuse("more than 64 lists and tables within each other"));
                }
                let (open, expect) = match byte {
                    b'{' => (Open::Table(self.line, Vec::new(), None), Expect::NameOrEnd),
                    _ => (Open::List(self.line, Vec::new()), Expect::ValueOrEnd),
                };
                self.open.push(open);
                self.expect = expect;
            }
            b'}' if matches!(self.expect, Expect::NameOrEnd | Expect::CommaOrEnd) => match self.open.pop() {
                Some(Open::Table(line, rows, _)) => self.value(Tree::new(line, Value::Table(rows)), take)?,
                _ => return Err(self.unexpected(byte)),
            },
            b']' if matches!(self.expect, Expect::ValueOrEnd | Expect::CommaOrEnd) => match self.open.pop() {
                Some(Open::List(line, rows)) => self.value(Tree::new(line, Value::List(rows)), take)?,
                _ => return Err(self.unexpected(byte)),
            },
            b':' if self.expect == Expect::Colon => self.expect = Expect::Value,
            b',' if self.expect == Expect::CommaOrEnd => {
                self.expect = match self.open.last() {
                    Some(Open::Table(..)) => Expect::Name,
                    _ => Expect::Value,
                };
            }
            _ if value_may_come && (byte.is_ascii_alphanumeric() || byte == b'-') => {
                self.token = Token::Word(vec![byte]);
            }
            _ => return Err(self.unexpected(byte)),
        }
        Ok(())
    }

    fn unexpected(&self, byte: u8) -> TraceError {
        let expected = match self.expect {
            Expect::Value | Expect::ValueOrEnd => "a value",
            Expect::Name | Expect::NameOrEnd => "a name in quotes",
            Expect::Colon => "a colon",
            Expect::CommaOrEnd => "a comma or the end of the list or table",
            Expect::Nothing => "nothing more",
        };
        self.refuse(&format!("{:?}: must be {expected} (JSON)", char::from(byte)))
    }

    fn text(&self, bytes: &[u8]) -> Result<String, TraceError> {
        let text = std::str::from_utf8(bytes).map_err(|_| self.refuse("not UTF-8 text"))?;
        if !text.contains('\\') {
            return Ok(text.to_owned());
        }
        let refuse = || self.refuse("a backslash must be followed by one of \"\\/bfnrtu (JSON)");
        let mut found = String::new();
        let mut letters = text.chars();
        let four = |letters: &mut std::str::Chars<'_>| {
            let digits: String = letters.by_ref().take(4).collect();
            u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4)
        };
        while let Some(letter) = letters.next() {
            if letter != '\\' {
                found.push(letter);
                continue;
            }
            found.push(match letters.next().ok_or_else(refuse)? {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let first = four(&mut letters).ok_or_else(refuse)?;
                    let mut code = first;
                    if (0xd800..0xdc00).contains(&first) {
                        let second = (letters.next() == Some('\\') && letters.next() == Some('u'))
                            .then(|| four(&mut letters))
                            .flatten()
                            .filter(|second| (0xdc00..0xe000).contains(second))
                            .ok_or_else(refuse)?;
                        code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    }
                    char::from_u32(code).ok_or_else(refuse)?
                }
                plain @ ('"' | '\\' | '/') => plain,
                _ => return Err(refuse()),
            });
        }
        Ok(found)
    }

    fn word(&self, word: &[u8]) -> Result<Value, TraceError> {
        let word = std::str::from_utf8(word).unwrap_or_default();
        Ok(match word {
            "null" => Value::Null,
            "true" => Value::Truth(true),
            "false" => Value::Truth(false),
            _ => {
                let is_json = word.starts_with(|first: char| first.is_ascii_digit() || first == '-');
                let number = word.parse().ok().filter(|number: &f64| is_json && number.is_finite());
                Value::Number(number.ok_or_else(|| {
                    self.refuse(&format!(
                        "{}: must be a number, a text in quotes, true, false or null",
                        excerpt(word)
                    ))
                })?)
            }
        })
    }

    fn text_is_whole(
        &mut self,
        text: String,
        take: &mut dyn FnMut(&str, Tree) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        if !matches!(self.expect, Expect::Name | Expect::NameOrEnd) {
            return self.value(Tree::new(self.line, Value::Text(text)), take);
        }
        if let Some(Open::Table(_, rows, name)) = self.open.last_mut() {
            if rows.iter().any(|(known, _)| *known == text) {
                let problem = format!("{}: stands twice in its table", excerpt(&text));
                return Err(TraceError::at(self.line, problem));
            }
            *name = Some(text);
            self.expect = Expect::Colon;
        }
        Ok(())
    }

    /// Takes a complete value: passes it on, or adds it to the list or table that contains it.
    fn value(
        &mut self,
        tree: Tree,
        take: &mut dyn FnMut(&str, Tree) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        self.expect = Expect::CommaOrEnd;
        if let [Open::Table(.., Some(of)), Open::Table(.., Some(list)), Open::List(..)] = self.open.as_slice()
            && list == LONG_LIST
        {
            self.kept = 0;
            return take(of, tree);
        }
        self.kept += 1;
        if self.kept > MOST {
            return Err(self.refuse("more values than a trace has outside of its list of steps"));
        }
        match self.open.last_mut() {
            Some(Open::List(_, rows)) => rows.push(tree),
            Some(Open::Table(_, rows, name)) => rows.push((name.take().unwrap_or_default(), tree)),
            None => {
                self.root = Some(tree);
                self.expect = Expect::Nothing;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements passed on, with the name of their table, and the rest of the text.
    type Told = (Vec<(String, Tree)>, Tree);

    /// For tests: values are equal wherever they stand in the text.
    impl PartialEq for Tree {
        fn eq(&self, other: &Self) -> bool {
            match (&self.value, &other.value) {
                (Value::Null, Value::Null) => true,
                (Value::Truth(a), Value::Truth(b)) => a == b,
                (Value::Number(a), Value::Number(b)) => a == b,
                (Value::Text(a), Value::Text(b)) => a == b,
                (Value::List(a), Value::List(b)) => a == b,
                (Value::Table(a), Value::Table(b)) => a == b,
                _ => false,
            }
        }
    }

    fn tree(value: Value) -> Tree {
        Tree::new(0, value)
    }

    fn read(text: &str, size: usize) -> Result<Told, TraceError> {
        let (mut json, mut taken) = (Json::default(), Vec::new());
        let mut take = |of: &str, tree| {
            taken.push((of.to_owned(), tree));
            Ok(())
        };
        for chunk in text.as_bytes().chunks(size) {
            json.push(chunk, &mut take)?;
        }
        let root = json.finish(&mut take)?;
        Ok((taken, root))
    }

    #[test]
    fn values_are_read_in_pieces_of_any_size() {
        let text = r#" {"a" : [1, -2.5e3, true, null, "x\"\u00e4\ud83d\ude00\n"], "b": {}, "c": []} "#;
        let list = [1.0, -2500.0].map(Value::Number).into_iter();
        let list = list.chain([Value::Truth(true), Value::Null, Value::Text("x\"ä😀\n".to_owned())]);
        let row = |name: &str, value| (name.to_owned(), tree(value));
        let table = vec![
            row("a", Value::List(list.map(tree).collect())),
            row("b", Value::Table(Vec::new())),
            row("c", Value::List(Vec::new())),
        ];
        for size in [1, 7, 1000] {
            assert_eq!(read(text, size), Ok((Vec::new(), tree(Value::Table(table.clone())))));
        }
        assert_eq!(read("12", 1), Ok((Vec::new(), tree(Value::Number(12.0)))));
    }

    #[test]
    fn the_elements_of_the_long_list_are_not_kept() {
        let (taken, root) =
            read("{\"N\": {\"pattern\": [\n1,\n{\"pattern\": [2]}],\n\"count\": 3}}", 5).unwrap();
        let list = tree(Value::List(vec![tree(Value::Number(2.0))]));
        let inner = tree(Value::Table(vec![("pattern".to_owned(), list)]));
        assert_eq!(taken, [("N".to_owned(), tree(Value::Number(1.0))), ("N".to_owned(), inner)]);
        let (name, body) = root.only().unwrap();
        assert_eq!(
            (name, body.get("count"), body.get("pattern")),
            ("N", Some(&tree(Value::Number(3.0))), Some(&tree(Value::List(Vec::new()))))
        );
    }

    #[test]
    fn a_value_knows_the_line_in_which_it_begins() {
        let text = "{\n \"a\": 1,\n \"b\": [\n  true\n ],\n \"c\":\n  {\n  \"d\": \"x\"\n}}";
        for size in [1, 4, 1000] {
            let (_, root) = read(text, size).unwrap();
            let line = |name: &str| root.get(name).unwrap().line;
            assert_eq!([root.line, line("a"), line("b"), line("c")], [1, 2, 3, 7]);
            assert_eq!(root.get("c").unwrap().get("d").unwrap().line, 8);
            let Value::List(rows) = &root.get("b").unwrap().value else { panic!("a list") };
            assert_eq!(rows[0].line, 4);
        }
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_line() {
        let error = |text: &str| read(text, 3).unwrap_err().to_string();
        assert_eq!(error("{\n\"a\" 1}"), "line 2: '1': must be a colon (JSON)");
        assert_eq!(error("{\"a\": 1,}"), "line 1: '}': must be a name in quotes (JSON)");
        assert_eq!(error("[1\n"), "line 2: the JSON text ends too early");
        assert_eq!(error("[1] 2"), "line 1: '2': must be nothing more (JSON)");
        assert_eq!(error("[1)"), "line 1: ')': must be a comma or the end of the list or table (JSON)");
        assert_eq!(
            error("[nan]"),
            "line 1: \"nan\": must be a number, a text in quotes, true, false or null"
        );
        assert_eq!(error("{\"a\":1,\"a\":2}"), "line 1: \"a\": stands twice in its table");
        assert_eq!(error("[\"a\n\"]"), "line 1: a text is not closed in its line");
        assert_eq!(error(&"[".repeat(70)), "line 1: more than 64 lists and tables within each other");
    }
}
