"""The HTML report of a run: `write_report(run_dir)`. Jinja and the protos are imported when a report is written."""

from pipeline.report.page import write_report

__all__ = ["write_report"]
