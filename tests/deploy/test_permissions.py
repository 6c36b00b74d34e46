"""What the roles of the template may do."""

import json
import unittest

import template
from template import actions, as_list, of_type, statements

KEY = "arn:aws:kms:us-east-1:123456789012:key/0a"


def targets(statement: dict) -> set[str]:
    return {r["Fn::GetAtt"][0] for r in as_list(statement["Resource"]) if isinstance(r, dict) and "Fn::GetAtt" in r}


def actions_on_storage(processed: dict, role: str) -> dict[str, set[str]]:
    """For each table and queue that the role reaches, what it may do there."""
    reached = {}
    for statement in statements(processed, role):
        for action in actions(statement):
            if action.startswith(("dynamodb:", "sqs:")):
                for target in targets(statement):
                    reached.setdefault(target, set()).add(action)
    return reached


class Permissions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.processed = template.processed(template.written(), KmsKeyArn=KEY)
        cls.roles = of_type(cls.processed, "AWS::IAM::Role")
        cls.function_roles = set(cls.roles) - {"CodeDeployRole"}

    def test_each_function_has_its_own_role(self):
        held = {
            name: function["Properties"]["Role"]["Fn::GetAtt"][0]
            for name, function in of_type(self.processed, "AWS::Lambda::Function").items()
        }
        self.assertEqual(held, {"CustomersFunction": "CustomersRole", "SignalsFunction": "SignalsRole",
                                "OverflowFunction": "OverflowRole"})
        self.assertEqual(self.function_roles, set(held.values()))

    def test_no_role_has_a_managed_policy(self):
        for name, role in self.roles.items():
            self.assertNotIn("ManagedPolicyArns", role["Properties"], name)

    def test_no_role_may_scan_query_delete_or_use_wildcards(self):
        for name in self.roles:
            for statement in statements(self.processed, name):
                self.assertNotIn("NotAction", statement)
                # Lambda deletes what the overflow function has drained.
                for action in set(actions(statement)) - {"sqs:DeleteMessage"}:
                    self.assertNotRegex(action, r"[*?]|Scan|Query|Delete|PartiQL", name)

    def test_only_traces_have_a_wildcard_resource(self):
        for name in self.function_roles:
            for statement in statements(self.processed, name):
                self.assertNotIn("NotResource", statement)
                if "*" in json.dumps(statement["Resource"]):
                    self.assertEqual(set(actions(statement)), {"xray:PutTraceSegments", "xray:PutTelemetryRecords"})

    def test_codedeploy_role_moves_the_aliases_of_the_functions_only(self):
        arns = [arn for name in ("CustomersFunction", "SignalsFunction")
                for arn in ({"Fn::GetAtt": [name, "Arn"]}, {"Fn::Sub": f"${{{name}.Arn}}:*"})]
        self.assertEqual([(actions(s), s["Resource"]) for s in statements(self.processed, "CodeDeployRole")], [
            (["lambda:GetAlias", "lambda:GetProvisionedConcurrencyConfig", "lambda:UpdateAlias"], arns),
            (["cloudwatch:DescribeAlarms"], "*"),
        ])
        trusted = {name: role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]["Service"]
                   for name, role in self.roles.items()}
        self.assertEqual(trusted.pop("CodeDeployRole"), "codedeploy.amazonaws.com")
        self.assertEqual(set(trusted.values()), {"lambda.amazonaws.com"})

    def test_customers_role_reads_keys_and_updates_customers(self):
        self.assertEqual(
            actions_on_storage(self.processed, "CustomersRole"),
            {"ApiKeysTable": {"dynamodb:GetItem"}, "CustomersTable": {"dynamodb:UpdateItem"}},
        )

    def test_signals_role_reads_keys_and_writes_its_tables(self):
        put, batch = "dynamodb:PutItem", "dynamodb:BatchWriteItem"
        self.assertEqual(
            actions_on_storage(self.processed, "SignalsRole"),
            {
                "ApiKeysTable": {"dynamodb:GetItem"},
                "SignalsTable": {batch, put},
                "IdempotencyTable": {put},
                "RejectedSignalsTable": {batch, put},
                "OverflowQueue": {"sqs:SendMessage"},
            },
        )

    def test_overflow_role_reads_its_queue_and_writes_what_the_signals_role_writes(self):
        put, batch = "dynamodb:PutItem", "dynamodb:BatchWriteItem"
        self.assertEqual(
            actions_on_storage(self.processed, "OverflowRole"),
            {
                "SignalsTable": {batch, put},
                "IdempotencyTable": {put},
                "RejectedSignalsTable": {batch, put},
                # What Lambda's AWSLambdaSQSQueueExecutionRole grants on every queue.
                "OverflowQueue": {"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"},
                "OverflowDeadLetterQueue": {"sqs:SendMessage"},
            },
        )

    def test_role_that_reaches_a_queue_may_use_its_key_through_sqs(self):
        through = {"StringEquals": {"kms:ViaService": {"Fn::Sub": "sqs.${AWS::Region}.${AWS::URLSuffix}"}}}
        for name in self.function_roles:
            reaches_a_queue = any("sqs:" in action for s in statements(self.processed, name) for action in actions(s))
            granted = [set(actions(s)) for s in statements(self.processed, name) if s.get("Condition") == through]
            # A sender needs both, a reader the first ("Amazon SQS Key management" in its developer guide).
            self.assertEqual(granted, [{"kms:Decrypt", "kms:GenerateDataKey"}] if reaches_a_queue else [], name)

    def test_function_has_the_variables_of_what_its_role_reaches(self):
        for name, function in of_type(self.processed, "AWS::Lambda::Function").items():
            named = template.references(function["Properties"]["Environment"]) - set(template.written()["Parameters"])
            reached = set(actions_on_storage(self.processed, function["Properties"]["Role"]["Fn::GetAtt"][0]))
            # Lambda reads the queue: the function has no need of its name.
            self.assertEqual(named, reached - ({"OverflowQueue"} if name == "OverflowFunction" else set()), name)

    def test_each_role_writes_its_own_log_group_only(self):
        for name, function in of_type(self.processed, "AWS::Lambda::Function").items():
            properties = function["Properties"]
            own = properties["LoggingConfig"]["LogGroup"]["Ref"]
            logs = [s for s in statements(self.processed, properties["Role"]["Fn::GetAtt"][0]) if "logs:" in str(s)]
            self.assertEqual([(sorted(actions(s)), s["Resource"]) for s in logs],
                             [(["logs:CreateLogStream", "logs:PutLogEvents"], {"Fn::GetAtt": [own, "Arn"]})], name)


if __name__ == "__main__":
    unittest.main()
