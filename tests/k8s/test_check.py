"""k8s/check fails until a folder is filled in and its images are pinned, and says what to do."""

import shutil
import subprocess

import pytest

from tests.k8s.built import APPLIED, K8S, why_not

DIGEST = f"sha256:{'5c' * 32}"


@pytest.fixture
def copy(tmp_path):
    if reason := why_not():
        pytest.skip(reason)
    shutil.copytree(K8S, tmp_path / "k8s")
    return tmp_path / "k8s"


def check(k8s, folder: str) -> tuple[int, str]:
    done = subprocess.run([k8s / "check", k8s / folder], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def fill_in(k8s) -> None:
    for path in k8s.rglob("*.yaml"):
        text = path.read_text()
        filled = text.replace("metadata.database.invalid", "db.example.com").replace("192.0.2.0/24", "10.8.0.0/16")
        filled = filled.replace("headrace@project.invalid", "headrace@project.iam.gserviceaccount.com")
        filled = filled.replace(
            "newName: registry.invalid/headrace", f"newName: r.example.com/headrace\n    digest: {DIGEST}"
        )
        path.write_text(filled.replace('newTag: "10.11"', f"digest: {DIGEST}"))


@pytest.mark.parametrize("folder", APPLIED)
def test_as_it_comes_no_folder_passes(copy, folder):
    code, said = check(copy, folder)
    assert code == 1, said
    assert "still to be filled in" in said or "images without a digest" in said


@pytest.mark.parametrize("folder", APPLIED)
def test_filled_in_every_folder_passes(copy, folder):
    fill_in(copy)
    code, said = check(copy, folder)
    assert (code, said.count("\n")) == (0, 1), said


def test_a_tag_is_named_with_the_file_that_pins_it(copy):
    code, said = check(copy, "overlays/dev")
    assert code == 1
    assert "docker.io/library/mariadb:10.11" in said
    assert "components/images/kustomization.yaml" in said


def test_what_is_open_is_named(copy):
    code, said = check(copy, "overlays/gke-tpu")
    assert code == 1
    for open_value in ("metadata.database.invalid", "192.0.2.0/24", "headrace@project.invalid"):
        assert open_value in said


def test_each_open_value_says_fill_in_beside_it():
    for path in K8S.rglob("*.yaml"):
        for line in path.read_text().splitlines():
            if ".invalid" in line or "192.0.2." in line:
                assert "fill in" in line or "fill in" in path.read_text().splitlines()[0], f"{path}: {line}"


def test_a_folder_that_kubectl_cannot_build_fails(copy):
    code, said = check(copy, "nowhere")
    assert code != 0 and "nowhere" in said


def test_no_digest_in_the_files_looks_real():
    assert not [
        path for path in K8S.rglob("*.yaml") if "@sha256:" in path.read_text() or "digest: sha256:0" in path.read_text()
    ]
