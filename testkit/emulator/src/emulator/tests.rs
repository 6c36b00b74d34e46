use super::{Emulator, Storage};
use crate::Template;

const TEMPLATE: &str = "
Resources:
  ApiKeysTable:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: keyHash, AttributeType: S}]
      KeySchema: [{AttributeName: keyHash, KeyType: HASH}]
  SignalsTable:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: sk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      TimeToLiveSpecification: {AttributeName: expiresAt, Enabled: true}
";

fn template() -> Template {
    Template::parse(TEMPLATE).unwrap()
}

#[test]
fn file_with_other_keys_than_the_template_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::File(folder.path().join("data"));
    drop(Emulator::start(&template(), &storage, 0).unwrap());

    let changed = Template::parse(&TEMPLATE.replace("keyHash", "hash")).unwrap();
    let error = Emulator::start(&changed, &storage, 0)
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        error,
        "The data file's table ApiKeysTable is not as the template declares it: delete the file, or name another."
    );
}
