"""Measurements behind `simarena bench`: each file measures one part and yields figures."""
