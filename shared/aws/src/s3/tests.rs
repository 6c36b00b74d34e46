use super::*;

#[tokio::test]
async fn write_at_the_same_time_as_another_is_a_change() {
    for status in [409, 412] {
        let response = HttpResponse::new(status.try_into().unwrap(), SdkBody::empty());
        assert_eq!(refusal(response).await, S3Error::Changed);
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
