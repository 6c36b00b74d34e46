//! Condition and update expressions ("Condition and filter expressions" and "Update expressions" in
//! the DynamoDB developer guide), as far as Intake writes them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Item, Refusal, text};

/// The names and the values that an expression refers to.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    names: &'a Value,
    values: &'a Value,
}

impl<'a> Names<'a> {
    /// Those of a call with this body.
    pub(super) fn of(body: &'a Value) -> Self {
        Self {
            names: &body["ExpressionAttributeNames"],
            values: &body["ExpressionAttributeValues"],
        }
    }

    fn name(self, token: &'a str) -> Result<&'a str, Refusal> {
        if !token.starts_with('#') {
            return Ok(token);
        }
        self.names[token].as_str().ok_or_else(|| unreadable(token))
    }

    fn value(self, token: &str) -> Result<&'a Value, Refusal> {
        self.values.get(token).ok_or_else(|| unreadable(token))
    }
}

/// Whether an item meets a condition. A missing item has no attributes.
pub(super) fn is_met(condition: &str, names: Names<'_>, item: &Item) -> Result<bool, Refusal> {
    let mut parser = Parser::new(condition, names, item);
    let is_met = parser.any()?;
    parser.end()?;
    Ok(is_met)
}

/// Changes an item as an update expression says. The values that it reads are those of `before`.
/// Returns the names of the attributes that it sets or removes.
pub(super) fn apply_update(
    update: &str,
    names: Names<'_>,
    before: &Item,
    after: &mut Item,
) -> Result<BTreeSet<String>, Refusal> {
    let mut parser = Parser::new(update, names, before);
    let mut changed = BTreeSet::new();
    while let Some(section) = parser.next_if(|token| ["SET", "REMOVE"].contains(&token)) {
        loop {
            let name = names.name(parser.next()?)?;
            let is_first = changed.insert(name.to_owned());
            if !is_first {
                return Err(unreadable("two paths overlap"));
            }
            if section == "SET" {
                parser.expect("=")?;
                let value = parser.new_value()?;
                after.insert(name.to_owned(), value.clone());
            } else {
                after.remove(name);
            }
            if parser.next_if(|token| token == ",").is_none() {
                break;
            }
        }
    }
    parser.end()?;
    Ok(changed)
}

/// Reads an expression from left to right, and evaluates it.
struct Parser<'a> {
    tokens: Vec<&'a str>,
    position: usize,
    names: Names<'a>,
    item: &'a Item,
}

impl<'a> Parser<'a> {
    fn new(expression: &'a str, names: Names<'a>, item: &'a Item) -> Self {
        Self {
            tokens: tokens(expression),
            position: 0,
            names,
            item,
        }
    }

    fn next(&mut self) -> Result<&'a str, Refusal> {
        let token = self.tokens.get(self.position).copied();
        self.position += 1;
        token.ok_or_else(|| unreadable("the end"))
    }

    fn next_if(&mut self, is_wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        let token = self.tokens.get(self.position).copied();
        let wanted = token.filter(|token| is_wanted(token))?;
        self.position += 1;
        Some(wanted)
    }

    fn expect(&mut self, token: &str) -> Result<(), Refusal> {
        let found = self.next()?;
        if found == token {
            Ok(())
        } else {
            Err(unreadable(found))
        }
    }

    fn end(&self) -> Result<(), Refusal> {
        match self.tokens.get(self.position) {
            None => Ok(()),
            Some(token) => Err(unreadable(token)),
        }
    }

    /// Parts with OR between them.
    fn any(&mut self) -> Result<bool, Refusal> {
        let mut is_met = self.all()?;
        while self.next_if(|token| token == "OR").is_some() {
            is_met |= self.all()?;
        }
        Ok(is_met)
    }

    /// Parts with AND between them.
    fn all(&mut self) -> Result<bool, Refusal> {
        let mut is_met = self.part()?;
        while self.next_if(|token| token == "AND").is_some() {
            is_met &= self.part()?;
        }
        Ok(is_met)
    }

    fn part(&mut self) -> Result<bool, Refusal> {
        let token = self.next()?;
        match token {
            "(" => {
                let is_met = self.any()?;
                self.expect(")")?;
                Ok(is_met)
            }
            "attribute_exists" => Ok(self.argument()?.is_some()),
            "attribute_not_exists" => Ok(self.argument()?.is_none()),
            _ => {
                let left = self.operand(token)?;
                let comparator = self.next()?;
                let token = self.next()?;
                let right = self.operand(token)?;
                compare(left, comparator, right)
            }
        }
    }

    /// The attribute in parentheses.
    fn argument(&mut self) -> Result<Option<&'a Value>, Refusal> {
        self.expect("(")?;
        let name = self.names.name(self.next()?)?;
        self.expect(")")?;
        Ok(self.item.get(name))
    }

    fn operand(&self, token: &'a str) -> Result<Option<&'a Value>, Refusal> {
        if token.starts_with(':') {
            self.names.value(token).map(Some)
        } else {
            Ok(self.item.get(self.names.name(token)?))
        }
    }

    /// What SET gives an attribute.
    fn new_value(&mut self) -> Result<&'a Value, Refusal> {
        let token = self.next()?;
        if token != "if_not_exists" {
            return self.names.value(token);
        }
        self.expect("(")?;
        let name = self.names.name(self.next()?)?;
        self.expect(",")?;
        let otherwise = self.names.value(self.next()?)?;
        self.expect(")")?;
        Ok(self.item.get(name).unwrap_or(otherwise))
    }
}

fn tokens(expression: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = expression.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_#:".contains(c);
        let length = if is_of_name(first) {
            rest.find(|c| !is_of_name(c)).unwrap_or(rest.len())
        } else if rest.starts_with("<=") || rest.starts_with(">=") || rest.starts_with("<>") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

/// A comparison with a missing attribute is false.
fn compare(left: Option<&Value>, comparator: &str, right: Option<&Value>) -> Result<bool, Refusal> {
    let (Some(left), Some(right)) = (left, right) else {
        return Ok(false);
    };
    if comparator == "=" {
        return Ok(left == right);
    }
    let numbers = (number(left), number(right));
    let (Some(left), Some(right)) = numbers else {
        return Ok(false);
    };
    match comparator {
        "<" => Ok(left < right),
        "<=" => Ok(left <= right),
        ">" => Ok(left > right),
        ">=" => Ok(left >= right),
        _ => Err(unreadable(comparator)),
    }
}

/// A whole number, which is all that Intake compares.
fn number(value: &Value) -> Option<i128> {
    text(&value["N"]).parse().ok()
}

fn unreadable(token: &str) -> Refusal {
    Refusal::Invalid(format!("the expression, at {token}"))
}
