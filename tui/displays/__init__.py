"""Displays: the headless twins of the screens, line by line, for pipes, logs and CI. Load no textual."""
