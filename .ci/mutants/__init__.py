"""What .ci/judge consists of: it changes one place of the code after the other, and finds out which tests notice."""
