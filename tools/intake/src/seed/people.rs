//! Made-up people. Their addresses are in domains that belong to nobody (RFC 2606), their telephone numbers in ranges
//! that are kept for stories.

use fastrand::Rng;
use serde_json::json;

const NAMES: [(&str, &str); 24] = [
    ("Ada", "f"),
    ("Amélie", "f"),
    ("Anna", "f"),
    ("Björn", "m"),
    ("Carlos", "m"),
    ("Chiara", "f"),
    ("Daniel", "m"),
    ("Elif", "f"),
    ("Emma", "f"),
    ("Finn", "m"),
    ("Giulia", "f"),
    ("Hana", "f"),
    ("Ibrahim", "m"),
    ("Jakub", "m"),
    ("Kofi", "m"),
    ("Lena", "f"),
    ("Mateo", "m"),
    ("Nora", "f"),
    ("Oliver", "m"),
    ("Priya", "f"),
    ("Søren", "m"),
    ("Tomáš", "m"),
    ("Yuki", ""),
    ("Zoë", "f"),
];

const SURNAMES: [&str; 20] = [
    "Andersson",
    "Bauer",
    "Costa",
    "Dubois",
    "Eriksen",
    "Fischer",
    "García",
    "Horvat",
    "Ivanova",
    "Jansen",
    "Kowalska",
    "Lindberg",
    "Moreau",
    "Novák",
    "O'Brien",
    "Patel",
    "Rossi",
    "Schmidt",
    "Tanaka",
    "Yılmaz",
];

/// City, state, country, and the begin of a telephone number.
const CITIES: [(&str, &str, &str, &str); 12] = [
    ("Hamburg", "HH", "DE", "+49 40 66969"),
    ("München", "BY", "DE", "+49 89 99998"),
    ("Wien", "", "AT", "+43 1 5550"),
    ("Zürich", "ZH", "CH", "+41 44 555 0"),
    ("Lyon", "", "FR", "+33 4 65 71 0"),
    ("Milano", "MI", "IT", "+39 02 5550 "),
    ("Barcelona", "CT", "ES", "+34 93 555 0"),
    ("Utrecht", "", "NL", "+31 30 555 0"),
    ("Kraków", "", "PL", "+48 12 555 0"),
    ("Leeds", "", "GB", "+44 113 496 0"),
    ("Portland", "OR", "US", "+1 503 555 0"),
    ("Austin", "TX", "US", "+1 512 555 0"),
];

pub(super) struct Person {
    pub(super) id: String,
    first_name: &'static str,
    last_name: &'static str,
    gender: &'static str,
    dob: String,
    place: (&'static str, &'static str, &'static str),
    phone: String,
    zip: String,
}

/// The `number`-th person.
pub(super) fn draw(number: u32, rng: &mut Rng) -> Person {
    let (first_name, gender) = rng.choice(NAMES).unwrap_or(("Ada", "f"));
    let (city, state, country, phone) = rng.choice(CITIES).unwrap_or(("Hamburg", "HH", "DE", "+49 40 66969"));
    Person {
        id: format!("customer-{number:05}"),
        first_name,
        last_name: rng.choice(SURNAMES).unwrap_or("Bauer"),
        gender,
        dob: format!("{}-{:02}-{:02}", rng.u16(1945..2008), rng.u8(1..=12), rng.u8(1..=28)),
        place: (city, state, country),
        phone: format!("{phone}{:03}", rng.u16(100..1000)),
        zip: format!("{:05}", rng.u32(10_000..99_999)),
    }
}

impl Person {
    /// What a client would send of them.
    pub(super) fn json(&self) -> String {
        let mailbox: String =
            format!("{}.{}", self.first_name, self.last_name).chars().filter(char::is_ascii).collect();
        let number = self.id.trim_start_matches("customer-");
        let (city, state, country) = self.place;
        json!({
            "customerId": self.id,
            "customerData": {
                "email": format!("{}.{number}@example.com", mailbox.to_lowercase()),
                "phoneNumber": self.phone,
                "firstName": self.first_name,
                "lastName": self.last_name,
                "gender": self.gender,
                "dob": self.dob,
                "city": city,
                "state": state,
                "country": country,
                "zip": self.zip,
            }
        })
        .to_string()
    }
}
