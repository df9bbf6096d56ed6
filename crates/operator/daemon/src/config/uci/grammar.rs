//! The form of a UCI file: `config TYPE 'NAME'`, `option NAME 'VALUE'`, `list NAME 'VALUE'`.
//!
//! Words are quoted as in a shell. A later option replaces an earlier one, as in OpenWrt's library.

/// A section.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Section {
    pub kind: String,
    pub name: Option<String>,
    pub line: usize,
    pub options: Vec<UciOption>,
}

/// An option or a list of a section.
#[derive(Debug, PartialEq, Eq)]
pub struct UciOption {
    pub name: String,
    pub line: usize,
    pub values: Values,
}

/// The values of an option.
#[derive(Debug, PartialEq, Eq)]
pub enum Values {
    One(String),
    List(Vec<String>),
}

impl Section {
    /// The name, if this is a tunnel.
    pub fn tunnel(&self) -> Option<&str> {
        self.name.as_deref().filter(|_| self.kind == "tunnel")
    }

    /// The value of an option that is not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|option| option.name == name).and_then(|option| match &option.values {
            Values::One(text) => Some(text.as_str()).filter(|text| !text.is_empty()),
            Values::List(_) => None,
        })
    }

    fn set(&mut self, name: String, line: usize, value: String) {
        self.options.retain(|option| option.name != name);
        self.options.push(UciOption { name, line, values: Values::One(value) });
    }

    fn add(&mut self, name: String, line: usize, value: String) -> Result<(), Wrong> {
        match self.options.iter_mut().find(|option| option.name == name) {
            Some(UciOption { values: Values::List(all), .. }) => all.push(value),
            Some(_) => {
                return Err((line, format!("{name:?} is an option and a list; write list for every value")));
            }
            None => self.options.push(UciOption { name, line, values: Values::List(vec![value]) }),
        }
        Ok(())
    }
}

/// A line, and what is wrong there.
type Wrong = (usize, String);

/// The sections of a file.
pub fn parse(text: &str) -> Result<Vec<Section>, Wrong> {
    let mut sections: Vec<Section> = Vec::new();
    for (line, mut words) in statements(text)? {
        let word = words.remove(0);
        let wrong = |what: String| Err((line, what));
        match (word.as_str(), words.as_mut_slice()) {
            ("package", [_]) => {}
            ("config", [kind]) => {
                sections.push(Section { kind: std::mem::take(kind), line, ..Section::default() });
            }
            ("config", [kind, name]) => {
                let (kind, name) = (std::mem::take(kind), std::mem::take(name));
                if sections.iter().any(|it| it.name.as_ref() == Some(&name) && it.kind == kind) {
                    return wrong(format!("a second section {kind} '{name}'; join the two"));
                }
                sections.push(Section { kind, name: Some(name), line, ..Section::default() });
            }
            (how @ ("option" | "list"), [name, value]) => {
                let (name, value) = (std::mem::take(name), std::mem::take(value));
                let Some(section) = sections.last_mut() else {
                    return wrong(format!("{how} {name:?} is in no section; write config TYPE before it"));
                };
                if how == "option" {
                    section.set(name, line, value);
                } else {
                    section.add(name, line, value)?;
                }
            }
            ("package" | "config" | "option" | "list", _) => {
                return wrong(format!(
                    "{word} has {} words behind it; a value with spaces needs quotes",
                    words.len()
                ));
            }
            _ => return wrong(format!("{word:?} begins no line of UCI; there are config, option and list")),
        }
    }
    Ok(sections)
}

/// The words of each line that has some. A quoted word may go on in the next line.
fn statements(text: &str) -> Result<Vec<(usize, Vec<String>)>, Wrong> {
    let mut all: Vec<(usize, Vec<String>)> = Vec::new();
    let (mut line, mut begins) = (1, true);
    let mut characters = text.chars().peekable();
    while let Some(&first) = characters.peek() {
        match first {
            '\n' | ';' => {
                characters.next();
                line += usize::from(first == '\n');
                begins = true;
            }
            ' ' | '\t' | '\r' => {
                characters.next();
            }
            '#' => while characters.next_if(|it| *it != '\n').is_some() {},
            _ => {
                let at = line;
                let word = word(&mut characters, &mut line)?;
                match all.last_mut().filter(|_| !begins) {
                    Some((_, words)) => words.push(word),
                    None => all.push((at, vec![word])),
                }
                begins = false;
            }
        }
    }
    Ok(all)
}

fn word(
    characters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    line: &mut usize,
) -> Result<String, Wrong> {
    let at = *line;
    let (mut word, mut quote) = (String::new(), None);
    loop {
        let Some(&next) = characters.peek() else {
            return match quote {
                Some(quote) => Err((at, format!("a value has no closing {quote}; add it"))),
                None => Ok(word),
            };
        };
        match (quote, next) {
            (None, ' ' | '\t' | '\r' | '\n' | ';') => return Ok(word),
            (None, '\'' | '"') => quote = Some(next),
            (Some(open), close) if open == close => quote = None,
            (None | Some('"'), '\\') => {
                characters.next();
                // A line that a backslash ends goes on in the next one.
                if let Some(&escaped) = characters.peek().filter(|it| **it != '\n') {
                    word.push(escaped);
                }
            }
            _ => word.push(next),
        }
        if let Some('\n') = characters.next() {
            *line += 1;
        }
    }
}
