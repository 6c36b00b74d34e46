//! What pages and comments refer to exists: files, headings, tests.

use std::path::Path;

use crate::support::page::{Page, quoted, root};

/// Folders and files at the root that are no part of the sources.
const NOT_SOURCES: [&str; 3] = [".git", "target", "Cargo.lock"];

/// Endings of files with comments that may cite a page.
const WITH_COMMENTS: [&str; 7] = ["rs", "yaml", "yml", "toml", "py", "ts", ""];

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .collect::<String>();
    kept.replace(' ', "-")
}

/// The targets of a page's links within the repository.
fn links(page: &Page) -> impl Iterator<Item = &str> {
    let targets = page
        .text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://"))
}

#[test]
fn every_link_leads_to_a_file_and_to_a_heading() {
    let mut count = 0;
    for page in Page::all() {
        let folder = Path::new(&page.path).parent().unwrap();
        for link in links(&page) {
            count += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let path = if file.is_empty() {
                page.path.clone()
            } else {
                folder.join(file).to_str().unwrap().to_owned()
            };
            let exists = root().join(&path).exists();
            assert!(
                exists,
                "{} links to {link}, which does not exist",
                page.path
            );
            if !heading.is_empty() {
                let target = Page::read(&path);
                let has = target
                    .headings()
                    .into_iter()
                    .any(|one| anchor(one) == heading);
                assert!(
                    has,
                    "{} links to {link}, a heading that does not exist",
                    page.path
                );
            }
        }
    }
    assert!(count > 100, "only {count} links are found");
}

/// The words of a text that are paths from the root: they begin with the name of a folder there.
fn paths<'t>(text: &'t str, folders: &'t [String]) -> impl Iterator<Item = &'t str> {
    let words = text.split(|c: char| c.is_whitespace() || "()[]`\"'<>|,;*=#".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':']));
    words.filter(|word| {
        folders.iter().any(|folder| {
            word.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        })
    })
}

/// The folders at the root that are part of the sources.
fn folders() -> Vec<String> {
    let entries = std::fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap());
    let folders = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap());
    folders
        .filter(|name| !NOT_SOURCES.contains(&name.as_str()))
        .collect()
}

#[test]
fn every_path_that_a_page_names_exists() {
    let folders = folders();
    assert_eq!(
        paths(
            "see `docs/a.md`, docs/b.md. or https://docs/c",
            &["docs".to_owned()]
        )
        .collect::<Vec<_>>(),
        ["docs/a.md", "docs/b.md"]
    );
    // The change log names files that are gone.
    for page in Page::all()
        .iter()
        .filter(|page| page.path != "CHANGELOG.md")
    {
        for path in paths(&page.text, &folders) {
            let exists = root().join(path).exists();
            assert!(exists, "{} names {path}, which does not exist", page.path);
        }
    }
}

#[test]
fn every_path_that_a_comment_of_the_code_names_exists() {
    let folders = folders();
    let mut count = 0;
    sources(&root(), &mut |file, text| {
        // The comments of this file name what is not there.
        if file.ends_with("docs/links.rs") {
            return;
        }
        let comments = text.lines().map(str::trim_start);
        let comments = comments.filter(|line| line.starts_with("//"));
        for path in comments.flat_map(|line| paths(line, &folders)) {
            count += 1;
            let exists = root().join(path).exists();
            assert!(
                exists,
                "{} names {path}, which does not exist",
                file.display()
            );
        }
    });
    assert!(count > 50, "only {count} paths are found");
}

/// What `text` cites as "docs/page.md, Heading": the page and what follows, over the ends of
/// comment lines. No heading follows where a page is only named.
fn citations(text: &str) -> Vec<(String, String)> {
    let plain = |line: &str| {
        line.trim_start()
            .trim_start_matches(['/', '!', '#'])
            .trim()
            .to_owned()
    };
    let text = text.lines().map(plain).collect::<Vec<_>>().join(" ");
    let mut cited = Vec::new();
    for folder in ["docs/", "delivery/"] {
        for rest in text.split(folder).skip(1) {
            let Some((name, after)) = rest.split_once(".md") else {
                continue;
            };
            if name
                .chars()
                .all(|c| c.is_ascii_alphabetic() || "-/".contains(c))
            {
                let heading = after
                    .strip_prefix(", ")
                    .filter(|heading| heading.starts_with(char::is_uppercase));
                cited.push((
                    format!("{folder}{name}.md"),
                    heading.unwrap_or_default().to_owned(),
                ));
            }
        }
    }
    cited
}

/// The text files below `folder` whose comments may cite a page.
fn sources(folder: &Path, take: &mut impl FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let ending = path
            .extension()
            .map_or("", |ending| ending.to_str().unwrap());
        if NOT_SOURCES.contains(&name) {
            continue;
        }
        if path.is_dir() {
            sources(&path, take);
        } else if WITH_COMMENTS.contains(&ending) {
            // What is not UTF-8 has no comments.
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            take(&path, &text);
        }
    }
}

#[test]
fn every_page_and_heading_that_a_comment_cites_exists() {
    let sample =
        "/// Why (docs/api.md,\n    /// Retries). See docs/internals/design.md, and read it.";
    let expected = [
        ("docs/api.md", "Retries). See "),
        ("docs/internals/design.md", ""),
    ];
    assert_eq!(
        citations(sample),
        expected.map(|(page, heading)| (page.to_owned(), heading.to_owned()))
    );
    let mut count = 0;
    sources(&root(), &mut |path, text| {
        // The tests of this file cite what is not there.
        for (page, cited) in citations(text)
            .into_iter()
            .filter(|_| !path.ends_with("docs/links.rs"))
        {
            count += 1;
            assert!(
                root().join(&page).exists(),
                "{} cites {page}, which does not exist",
                path.display()
            );
            let page = Page::read(&page);
            let exists = cited.is_empty()
                || page
                    .headings()
                    .into_iter()
                    .any(|heading| cited.starts_with(heading));
            assert!(
                exists,
                "{} cites {}, {cited}: no such heading",
                path.display(),
                page.path
            );
        }
    });
    assert!(count > 100, "only {count} citations are found");
}

/// Whether a page means a test by this text in backquotes: a name of many words.
fn is_name_of_a_test(text: &str) -> bool {
    let is_in_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.chars().all(is_in_name) && text.matches('_').count() >= 4
}

#[test]
fn every_test_that_a_page_names_exists() {
    assert!(is_name_of_a_test("a_test_has_many_words"));
    assert!(!is_name_of_a_test("unique_signals"));
    let mut functions = String::new();
    sources(&root(), &mut |path, text| {
        if path.extension().is_some_and(|ending| ending == "rs") {
            functions.push_str(text);
        }
    });
    let mut count = 0;
    for page in Page::all() {
        let outside_of_code: String = page.text.split("```").step_by(2).collect();
        for name in quoted(&outside_of_code).filter(|text| is_name_of_a_test(text)) {
            count += 1;
            let exists = functions.contains(&format!("fn {name}("));
            assert!(exists, "{} names {name}, which is no test", page.path);
        }
    }
    assert!(count > 15, "only {count} names are found");
}
