import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
import sys
sys.path.insert(0, {root!r})
from components.confine import confine
if not confine(["/usr", "/lib", {readable!r}], [{writable!r}]):
    sys.exit(77)
def attempt(path, mode):
    try:
        open(path, mode).close()
        return True
    except PermissionError:
        return False
print(attempt({readable!r} + "/a", "r"), attempt({readable!r} + "/a", "a"),
      attempt({writable!r} + "/b", "w"), attempt({secret!r}, "r"))
"""


def test_a_confined_process_reads_and_writes_only_what_it_named(tmp_path):
    for name in ("readable", "writable"):
        (tmp_path / name).mkdir()
    (tmp_path / "readable" / "a").write_text("a")
    (tmp_path / "secret").write_text("s")
    code = CODE.format(
        root=str(ROOT),
        readable=str(tmp_path / "readable"),
        writable=str(tmp_path / "writable"),
        secret=str(tmp_path / "secret"),
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    if done.returncode == 77:
        pytest.skip("this kernel has no Landlock")
    assert done.stdout.split() == ["True", "False", "True", "False"], done.stderr
