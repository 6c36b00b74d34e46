use super::*;
use crate::fakes::key_snapshot;
use crate::fakes::overflow_queue::OverflowQueue;

/// All variables of the functions. Nothing responds to their calls.
pub(crate) fn variables_without_aws(template: &Template) -> Variables {
    let sdk_names = [
        "AWS_REGION",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ENDPOINT_URL_S3",
    ];
    let sdk_variables = sdk_names.map(|name| (name.to_owned(), "local".to_owned()));
    let variables = template.environment().unwrap().into_iter();
    variables
        .chain(sdk_variables)
        .chain(OverflowQueue::variables())
        .chain([key_snapshot::variable()])
        .collect()
}

#[test]
fn functions_of_the_template_are_those_of_this_program() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml");
    let mut template = Template::read(path.as_ref()).unwrap();
    let variables = variables_without_aws(&template);
    let lines = mpsc::unbounded_channel().0;
    assert!(Functions::start(&template, &variables, &lines).is_ok());
    template.functions[0].package = "another".to_owned();
    let error = Functions::start(&template, &variables, &lines).err();
    let error = error.unwrap().to_string();
    assert!(error.contains("does not know"), "{error}");
}
