//! The types of a configuration by their source: tables, keys, types of values, defaults, and purposes.
//!
//! A default comes from serde's attribute. If the code determines it later, the comment ends with "Default:
//! ...".

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::HashMap;
use std::fmt::Write as _;
use syn::{Attribute, Expr, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Stmt, Type};

/// The source of the types.
pub struct Configuration {
    structs: HashMap<String, syn::ItemStruct>,
    enums: HashMap<String, syn::ItemEnum>,
    /// Values of the functions that serde calls for defaults.
    functions: HashMap<String, Expr>,
    /// Values of `Default` for each field of a struct.
    defaults: HashMap<(String, String), Expr>,
}

/// One key.
pub struct Key {
    /// The table in written form, such as `[tunnel]` or `[[peer]]`; empty at the top of the file.
    pub table: String,
    pub name: String,
    kind: String,
    pub default: String,
    /// Whether the comment has the default, because the code determines it later.
    pub is_default_said: bool,
    meaning: String,
}

/// A field of a struct that is a table of its own.
struct Table {
    written: String,
    name: String,
    meaning: String,
    keys: Vec<Key>,
}

impl Configuration {
    /// Parses the source of the types, and that of enums elsewhere.
    pub fn parse(source: &str, values: &[String]) -> Self {
        let mut parsed = Configuration {
            structs: HashMap::new(),
            enums: HashMap::new(),
            functions: HashMap::new(),
            defaults: HashMap::new(),
        };
        for text in values {
            for item in syn::parse_file(text).unwrap().items {
                if let Item::Enum(item) = item {
                    parsed.enums.insert(item.ident.to_string(), item);
                }
            }
        }
        for item in syn::parse_file(source).unwrap().items {
            match item {
                Item::Struct(item) => drop(parsed.structs.insert(item.ident.to_string(), item)),
                Item::Enum(item) => drop(parsed.enums.insert(item.ident.to_string(), item)),
                Item::Fn(item) => {
                    if let [Stmt::Expr(gives, None)] = &item.block.stmts[..] {
                        parsed.functions.insert(item.sig.ident.to_string(), gives.clone());
                    }
                }
                Item::Impl(item) => parsed.read_default(&item),
                _ => {}
            }
        }
        parsed
    }

    /// `impl Default for Store { fn default() -> Self { Store { ... } } }`
    fn read_default(&mut self, item: &syn::ItemImpl) {
        let Some((_, of, _)) = &item.trait_ else { return };
        let [syn::ImplItem::Fn(function)] = &item.items[..] else { return };
        if !of.is_ident("Default") {
            return;
        }
        let [Stmt::Expr(Expr::Struct(gives), None)] = &function.block.stmts[..] else { return };
        let name = gives.path.get_ident().unwrap().to_string();
        for field in &gives.fields {
            let syn::Member::Named(key) = &field.member else { continue };
            self.defaults.insert((name.clone(), key.to_string()), field.expr.clone());
        }
    }

    /// All keys, in the source's order.
    pub fn keys(&self) -> Vec<Key> {
        let (top, tables) = self.tables();
        top.into_iter().chain(tables.into_iter().flat_map(|table| table.keys)).collect()
    }

    /// A section for each table.
    pub fn markdown(&self) -> String {
        let (top, tables) = self.tables();
        let mut page = String::new();
        section("At the top of the file", "These keys stand before the first table.", &top, &mut page);
        for table in tables {
            section(&format!("`{}`", table.written), &table.meaning, &table.keys, &mut page);
        }
        page
    }

    /// The keys at the top of the file, and the tables.
    fn tables(&self) -> (Vec<Key>, Vec<Table>) {
        let mut tables = Vec::new();
        let top = self.walk("File", "", "", &mut tables);
        (top, tables)
    }

    /// The keys of a struct; its tables join `tables`.
    fn walk(&self, of: &str, path: &str, written: &str, tables: &mut Vec<Table>) -> Vec<Key> {
        let item = &self.structs[of];
        let Fields::Named(fields) = &item.fields else { panic!("{of} has no keys") };
        let mut keys = Vec::new();
        for field in &fields.named {
            let name = field.ident.as_ref().unwrap().to_string();
            let (meaning, said) = meaning(&field.attrs);
            assert!(!meaning.is_empty(), "{of}.{name} is not described");
            match self.table_of(&field.ty) {
                Some((inner, form)) => {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    let written =
                        if form == Form::Many { format!("[[{path}]]") } else { format!("[{path}]") };
                    let at = tables.len();
                    let required = form == Form::One && !serde(&field.attrs).iter().any(is_default);
                    let meaning = if required { format!("{meaning} Required.") } else { meaning };
                    let table =
                        Table { written: written.clone(), name: name.clone(), meaning, keys: Vec::new() };
                    tables.push(table);
                    tables[at].keys = self.walk(&inner, &path, &written, tables);
                    if form == Form::Switched {
                        let name = tables[at].name.clone();
                        let meaning = format!("The short form of the table `{written}` with its defaults.");
                        let (kind, default) = ("boolean".to_owned(), "`false`".to_owned());
                        let table = String::new();
                        keys.push(Key { table, name, kind, default, is_default_said: false, meaning });
                    }
                }
                None => {
                    let kind = self.kind(&field.ty, &name);
                    let is_default_said = said.is_some();
                    let default = self.default(of, field, said);
                    let table = written.to_owned();
                    keys.push(Key { table, name, kind, default, is_default_said, meaning });
                }
            }
        }
        keys
    }

    /// The struct of a table's type, and its form.
    fn table_of(&self, written: &Type) -> Option<(String, Form)> {
        let (name, inner) = parts(written);
        match (name.as_str(), inner) {
            ("Option", Some(inner)) => {
                let (inner, form) = self.table_of(inner)?;
                Some((inner, if form == Form::One { Form::Optional } else { form }))
            }
            ("Vec", Some(inner)) => Some((self.table_of(inner)?.0, Form::Many)),
            ("Switched", Some(inner)) => Some((self.table_of(inner)?.0, Form::Switched)),
            _ if self.structs.contains_key(&name) => Some((name, Form::One)),
            _ => None,
        }
    }

    /// The form of a value of this type, and its unit.
    fn kind(&self, written: &Type, key: &str) -> String {
        let (name, inner) = parts(written);
        match (name.as_str(), inner) {
            ("Option", Some(inner)) => self.kind(inner, key),
            ("Vec", Some(inner)) => format!("list of: {}", self.kind(inner, key)),
            ("bool", _) => "boolean".to_owned(),
            ("String", _) => "string".to_owned(),
            ("PathBuf", _) => "path".to_owned(),
            ("i64" | "u8" | "u16" | "u32" | "u64" | "usize", _) => format!("integer{}", unit(key)),
            ("f64", _) => format!("number{}", unit(key)),
            ("IpAddr", _) => "IP address".to_owned(),
            ("SocketAddr", _) => "IP address and port".to_owned(),
            ("BTreeMap", _) => "table: IP address to two numbers".to_owned(),
            ("Value", _) => "integer or string".to_owned(),
            (name, _) => {
                let item = self.enums.get(name).unwrap_or_else(|| panic!("{key} is of the type {name}"));
                let names = item.variants.iter().map(|it| format!("`{}`", value_name(item, it)));
                names.collect::<Vec<_>>().join(", ")
            }
        }
    }

    fn default(&self, of: &str, field: &syn::Field, said: Option<String>) -> String {
        let name = field.ident.as_ref().unwrap().to_string();
        let attributes = serde(&field.attrs);
        let of_function = attributes.iter().find_map(|attribute| {
            let Meta::NameValue(pair) = attribute else { return None };
            let Expr::Lit(text) = &pair.value else { return None };
            let (true, Lit::Str(function)) = (pair.path.is_ident("default"), &text.lit) else { return None };
            Some(self.functions[&function.value()].clone())
        });
        let of_struct = self.defaults.get(&(of.to_owned(), name.clone())).cloned();
        let is_optional = parts(&field.ty).0 == "Option";
        let given = of_function.or(of_struct);
        let evaluated = given.as_ref().and_then(|gives| self.value(gives));
        let of_type = || match parts(&field.ty).0.as_str() {
            "bool" => "`false`".to_owned(),
            "Vec" => "`[]`".to_owned(),
            "BTreeMap" => "none".to_owned(),
            name => format!("`{}`", self.default_of_enum(name).expect("the type has a default")),
        };
        match (evaluated, said) {
            (Some(value), None) if value == "None" => "none".to_owned(),
            (Some(value), None) => format!("`{value}`"),
            (Some(_), Some(_)) => panic!("the default of {of}.{name} stands in the code and in the comment"),
            (None, Some(said)) => said,
            (None, None) if given.is_some() => panic!("say \"Default: ...\" in the comment of {of}.{name}"),
            (None, None) if is_optional => "none".to_owned(),
            (None, None) if attributes.iter().any(is_default) => of_type(),
            (None, None) => "required".to_owned(),
        }
    }

    /// The value of an expression as TOML, if known.
    fn value(&self, gives: &Expr) -> Option<String> {
        match gives {
            Expr::Lit(literal) => Some(match &literal.lit {
                Lit::Bool(value) => value.value.to_string(),
                Lit::Int(value) if value.to_string().starts_with("0x") => value.to_string(),
                Lit::Int(value) => value.base10_digits().to_owned(),
                Lit::Float(value) => value.base10_digits().to_owned(),
                Lit::Str(value) => format!("{:?}", value.value()),
                _ => return None,
            }),
            Expr::Binary(shift) if matches!(shift.op, syn::BinOp::Shl(_)) => {
                let number = |side: &Expr| self.value(side)?.parse::<u64>().ok();
                Some((number(&shift.left)? << number(&shift.right)?).to_string())
            }
            Expr::MethodCall(call) if call.method == "into" || call.method == "to_owned" => {
                self.value(&call.receiver)
            }
            Expr::Macro(list) if list.mac.path.is_ident("vec") => {
                let members = list
                    .mac
                    .parse_body_with(syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated);
                let members: Option<Vec<String>> = members.ok()?.iter().map(|it| self.value(it)).collect();
                Some(format!("[{}]", members?.join(", ")))
            }
            Expr::Call(call) => {
                let Expr::Path(path) = &*call.func else { return None };
                let names: Vec<String> = path.path.segments.iter().map(|it| it.ident.to_string()).collect();
                let [name, function] = &names[..] else { return None };
                if function == "default" { self.default_of_enum(name) } else { None }
            }
            Expr::Path(path) if path.path.is_ident("None") => Some("None".to_owned()),
            _ => None,
        }
    }

    fn default_of_enum(&self, name: &str) -> Option<String> {
        let item = self.enums.get(name)?;
        let is_default = |it: &&syn::Variant| it.attrs.iter().any(|it| it.path().is_ident("default"));
        Some(value_name(item, item.variants.iter().find(is_default)?))
    }
}

/// The form of a table.
#[derive(PartialEq, Eq)]
enum Form {
    One,
    Optional,
    Many,
    /// Once, or `true` in its place.
    Switched,
}

fn section(heading: &str, meaning: &str, keys: &[Key], page: &mut String) {
    let _ = write!(page, "\n### {heading}\n\n{meaning}\n");
    if keys.is_empty() {
        return;
    }
    page.push_str("\n| key | type | default | |\n|---|---|---|---|\n");
    for Key { name, kind, default, meaning, .. } in keys {
        let _ = writeln!(page, "| `{name}` | {kind} | {default} | {} |", meaning.replace('|', "\\|"));
    }
}

/// The last name of a type's path, and its first argument.
pub fn parts(written: &Type) -> (String, Option<&Type>) {
    let Type::Path(path) = written else { panic!("a key's type has a name") };
    let last = path.path.segments.last().unwrap();
    let inner = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(|argument| {
            let GenericArgument::Type(inner) = argument else { return None };
            Some(inner)
        }),
        _ => None,
    };
    (last.ident.to_string(), inner)
}

/// The text of a comment, and the default at its end.
pub fn meaning(attributes: &[Attribute]) -> (String, Option<String>) {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        let (true, Expr::Lit(text)) = (pair.path.is_ident("doc"), &pair.value) else { return None };
        let Lit::Str(line) = &text.lit else { return None };
        Some(line.value().trim().to_owned())
    });
    let text = lines.collect::<Vec<_>>().join(" ");
    match text.split_once(" Default: ") {
        Some((meaning, default)) => (meaning.to_owned(), Some(default.trim_end_matches('.').to_owned())),
        None => (text, None),
    }
}

/// The words of a field's serde attributes.
pub fn serde(attributes: &[Attribute]) -> Vec<Meta> {
    let of_serde = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    let words = of_serde.flat_map(|attribute| {
        let words = syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated;
        attribute.parse_args_with(words).unwrap()
    });
    words.collect()
}

fn is_default(word: &Meta) -> bool {
    word.path().is_ident("default")
}

/// The name of a variant in a file, by `rename_all`: lower case, with or without hyphens.
fn value_name(item: &syn::ItemEnum, variant: &syn::Variant) -> String {
    let hyphens = serde(&item.attrs).iter().any(|word| {
        let Meta::NameValue(pair) = word else { return false };
        matches!(&pair.value, Expr::Lit(text) if matches!(&text.lit, Lit::Str(it) if it.value() == "kebab-case"))
    });
    let mut name = String::new();
    for letter in variant.ident.to_string().chars() {
        if hyphens && letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    format!("\"{name}\"")
}

/// The unit that a key's name ends with.
fn unit(key: &str) -> &'static str {
    match key.rsplit('_').next() {
        Some("seconds") => ", seconds",
        Some("milliseconds") => ", milliseconds",
        Some("bytes") => ", bytes",
        Some("mib") => ", MiB",
        Some("mbps") => ", Mbit/s",
        Some("packets") => ", packets",
        Some("metres") => ", metres",
        Some("hops") => ", hops",
        Some("bits") => ", bits",
        _ => "",
    }
}
