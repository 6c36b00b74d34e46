use super::*;

#[tokio::test]
async fn response_without_a_code_is_decided_by_its_status() {
    for (status, error) in [
        (408, S3Error::Unavailable(CallError::Timeout)),
        (429, S3Error::Unavailable(CallError::Throttled)),
        (500, S3Error::Unavailable(CallError::ServerError)),
        (503, S3Error::Unavailable(CallError::ServerError)),
        (404, S3Error::Missing),
        (400, refused(400)),
        (403, refused(403)),
        (413, refused(413)),
    ] {
        let response = HttpResponse::new(status.try_into().unwrap(), SdkBody::empty());
        assert_eq!(refusal(response).await, error, "{status}");
    }
}

fn refused(status: u16) -> S3Error {
    let code = String::new();
    S3Error::Refused { status, code }
}

#[tokio::test]
async fn clock_that_is_wrong_is_told_apart_from_a_refused_key() {
    for (code, cause) in [
        ("RequestTimeTooSkewed", CallError::ClockSkew),
        ("ExpiredToken", CallError::InvalidCredentials),
        ("SignatureDoesNotMatch", CallError::InvalidCredentials),
    ] {
        let body = format!("<Error><Code>{code}</Code><Message>none</Message></Error>");
        let response = HttpResponse::new(403.try_into().unwrap(), SdkBody::from(body));
        assert_eq!(refusal(response).await, S3Error::Unavailable(cause));
    }
}

#[test]
fn http_date_is_read_to_the_second() {
    assert_eq!(
        http_date("Fri, 20 Nov 2026 22:16:40 GMT")
            .unwrap()
            .to_string(),
        "2026-11-20T22:16:40.000Z"
    );
    assert_eq!(http_date("2026-11-20"), None);
}
