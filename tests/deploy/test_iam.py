"""What the policies of the templates allow and deny, as IAM decides: calls that are made, and calls that must not work."""

import json
import unittest

import iam_attacks
from iam_calls import Calls
from iam_simulation import ACCOUNT, Call, Policies, decide
from template import actions

# The simulation says that it is allowed, and not by which statement.
AMBIGUOUS = {"lambda:GetProvisionedConcurrencyConfig"}


class Iam(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.policies = Policies()
        cls.calls = Calls(cls.policies)
        cls.allowed = cls.calls.allowed()
        cls.decisions = decide([cls.policies.simulation(call) for call in cls.allowed])

    def test_every_call_of_the_functions_and_of_aws_is_allowed(self):
        for call, decision in zip(self.allowed, self.decisions):
            with self.subTest(call=call):
                self.assertEqual(decision.get("result"), "Allowed", decision)

    def test_conditions_of_the_calls_are_ones_that_iam_knows(self):
        for call, decision in zip(self.allowed, self.decisions):
            self.assertEqual(decision.get("ignored"), [], call)

    def test_every_action_of_every_statement_is_used_by_a_call(self):
        used = {}
        for call, decision in zip(self.allowed, self.decisions):
            for statement in decision.get("allowedBy", []):
                used.setdefault((call.role, json.dumps(statement, sort_keys=True)), set()).add(call.action)
        for role in self.policies.roles:
            # CloudFormation's schemas say what this one needs: test_resource_handlers.py.
            if role == "DeploymentRole":
                continue
            for statement in self.policies.of_role(role):
                with self.subTest(role=role, statement=statement):
                    used_actions = used.get((role, json.dumps(statement, sort_keys=True)), set())
                    self.assertEqual(used_actions, set(actions(statement)) - AMBIGUOUS)

    def test_every_statement_of_the_boundary_is_used_by_a_call(self):
        used = {}
        for call, decision in zip(self.allowed, self.decisions):
            for statement in decision.get("boundedBy", []):
                used.setdefault(json.dumps(statement, sort_keys=True), set()).add(call.action)
        for statement in self.policies.boundary["Statement"]:
            with self.subTest(statement=statement):
                used_actions = used.get(json.dumps(statement, sort_keys=True), set())
                self.assertEqual(used_actions, set(actions(statement)) - AMBIGUOUS)

    def test_what_must_be_denied_is_denied(self):
        denied = iam_attacks.denied(self.calls)
        for call, decision in zip(denied, decide([self.policies.simulation(call) for call in denied])):
            with self.subTest(call=call):
                self.assertIn(decision.get("result"), ("ImplicitlyDenied", "ExplicitlyDenied"), decision)

    def test_only_the_operators_that_the_parameter_names_write_the_key_snapshot(self):
        snapshot = self.calls.object("KeySnapshotBucket")
        anything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}

        def call(role: str, action: str) -> dict:
            made = self.policies.simulation(Call("VerificationRole", action, snapshot))
            made["identityPolicies"] = [{"name": role, "policy": anything}]
            principal = f"arn:aws:iam::{ACCOUNT}:role/{role}"
            made["request"]["principal"] = made["request"]["contextVariables"]["aws:PrincipalArn"] = principal
            return made
        for action in ("s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion"):
            with self.subTest(action=action):
                operator, administrator = decide([call("operator", action), call("administrator", action)])
                self.assertEqual((operator["result"], administrator["result"]), ("Allowed", "ExplicitlyDenied"))


if __name__ == "__main__":
    unittest.main()
