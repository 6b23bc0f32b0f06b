"""The HTML report of a run: `write_report(run_dir)`. Jinja and the protos are imported when a report is written."""

from pipeline.report.page import render, write_report

__all__ = ["render", "write_report"]
