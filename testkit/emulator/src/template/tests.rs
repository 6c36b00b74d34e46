use super::Template;

const HEAD: &str = "
Parameters:
  Days: {Type: Number, Default: 7}
  Mail: {Type: String}
Globals:
  Function:
    Environment: {Variables: {KEYS: !Ref Keys, LEVEL: info}}
";

fn parse(resources: &str) -> Result<Template, String> {
    Template::parse(&format!("{HEAD}Resources:\n{resources}")).map_err(|error| format!("{error:#}"))
}

const API: &str = "
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      CorsConfiguration: !If
        - HasCors
        - AllowOrigins: !Split [',', !Ref Origins]
          AllowMethods: [GET, POST]
          AllowHeaders: [authorization]
          ExposeHeaders: [retry-after, x-request-id]
          MaxAge: 3600
        - !Ref AWS::NoValue
";

const KEYS: &str = "
  Keys:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: !If [IsProd, PROVISIONED, PAY_PER_REQUEST]
      DeletionProtectionEnabled: !If [IsProd, true, !Ref AWS::NoValue]
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: sk, AttributeType: N}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      TimeToLiveSpecification: {AttributeName: expiresAt, Enabled: true}
";

fn function_with(name: &str, variable: &str) -> String {
    format!(
        "
  {name}:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/{name}
      Environment: {{Variables: {{{variable}}}}}
      Events: {{Call: {{Type: HttpApi, Properties: {{Path: /{name}, Method: ANY}}}}}}
"
    )
}

#[test]
fn variable_or_route_that_the_local_stack_cannot_have_is_an_error() {
    for value in [
        "!Ref Mail",
        "!GetAtt Keys.Arn",
        "!If [A, b, c]",
        "!Ref Elsewhere",
    ] {
        let variable = format!("TO: {value}");
        let error = parse(&format!("{KEYS}{}", function_with("Signals", &variable))).unwrap_err();
        assert_eq!(
            error,
            "the function Signals has the variable TO, which the local stack cannot evaluate."
        );
    }
    let both = function_with("A", "MODE: one") + &function_with("B", "MODE: two");
    let error = parse(&format!("{KEYS}{both}"))
        .unwrap()
        .environment()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the variable MODE different values"),
        "{error}"
    );
    let route =
        function_with("Signals", "MODE: one").replace("Path: /Signals", "Path: '/signals/{id}'");
    let error = parse(&format!("{KEYS}{route}")).unwrap_err();
    assert!(
        error.contains("the function Signals has the route /signals/{id}, whose variables"),
        "{error}"
    );
}

#[test]
fn unknown_or_computed_cors_property_is_an_error() {
    let error = parse(&API.replace("MaxAge: 3600", "AllowCredentials: true")).unwrap_err();
    assert!(
        error.contains("the CorsConfiguration of Api has the property AllowCredentials"),
        "{error}"
    );
    for value in [
        "!Ref Age",
        "[1]",
        "{}",
        "!Split [';', 'a;b']",
        "!Split [',', !Ref Ages]",
        "!Split [',', !Join ['', [a, !If [HasAge, b, !Ref Age]]]]",
    ] {
        let error = parse(&API.replace("MaxAge: 3600", &format!("MaxAge: {value}"))).unwrap_err();
        assert!(
            error.contains("the CorsConfiguration of Api needs MaxAge written out"),
            "{error}"
        );
    }
}
