"""Runs the checks of docs/examples that need no stack: the recipes meet scripted answers, the page's queue a browser's rules.

    python3 .ci/clients/scripted_checks.py FOLDER     the folder with the programs
"""

import os
import subprocess
import sys

import scripted

variables = os.environ | {"SCRIPTED_URL": scripted.start(), "API_KEY": "key"}
for program in (["node", "retry_check.ts"], ["python3", "retry_check.py"], ["node", "page_check.ts"], ["node", "page_answers_check.ts"]):
    # A recipe that repeats what it must not would go on for a day.
    subprocess.run(program, cwd=sys.argv[1], env=variables, check=True, timeout=60)
print("The retry recipes send one body, wait as they are told, and repeat nothing that was refused. The page's queue loses nothing.")
