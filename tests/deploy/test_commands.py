"""The commands of sam and AWS's command line on the pages, as bash passes them, and what they set. test_programs.py runs them."""

import tempfile
import unittest
from collections import Counter
from pathlib import Path

import click
from samcli.cli.types import CfnParameterOverridesType

import page_commands
import template
from template import PROJECT


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.made = page_commands.made_by_pages(Path(folder.name).resolve() / "project")

    def test_bash_runs_every_command_that_a_reader_sees(self):
        for script, commands in self.made.items():
            # deploy/streams does the same for two tables.
            seen = page_commands.count(script.text) * (2 if script.place == "deploy/streams" else 1)
            self.assertEqual(len(commands), seen, script)
        of_pages = Counter(script.place.split(":")[0] for script, commands in self.made.items() for _ in commands)
        self.assertLessEqual({"README.md", "docs/operate.md", "docs/runbook.md", "delivery/README.md"}, set(of_pages))

    def test_parameter_is_emptied_as_the_page_says(self):
        self.assertIn("`'CorsOrigins=\"\"'` empties one", " ".join((PROJECT / "docs" / "operate.md").read_text().split()))
        self.assertEqual(CfnParameterOverridesType().convert(('CorsOrigins=""',), None, None), {"CorsOrigins": ""})
        # As a reader would try first, and sam refuses.
        with self.assertRaises(click.BadParameter):
            CfnParameterOverridesType().convert(("CorsOrigins=",), None, None)

    def test_deployments_set_parameters_that_their_template_has(self):
        for script, commands in self.made.items():
            for command in commands:
                names = set(CfnParameterOverridesType().convert(command.overrides, None, None))
                options = dict(zip(command.arguments, command.arguments[1:]))
                file = f"{command.folder}/{options.get('--template-file', 'template.yaml')}"
                self.assertLessEqual(names, set(template.written(file)["Parameters"]) if names else set(), script)


if __name__ == "__main__":
    unittest.main()
