"""Image folders: what is read, and the exact error of each bad one. Images come from Pillow."""

import pytest

from components.ingest.images import read_images
from pipeline.errors import HeadraceError


def image(path, mode="L", size=(8, 8), **save):
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size).save(path, **save)
    return path


@pytest.fixture
def folder(tmp_path):
    """Two classes of two images each, and hidden files that count for nothing."""
    for label in ("cat", "dog"):
        for index in range(2):
            image(tmp_path / label / f"{index}.png")
    (tmp_path / ".source.json").write_text("{}")
    (tmp_path / "cat" / ".DS_Store").write_bytes(b"\x00")
    return tmp_path


def refused(folder, code):
    with pytest.raises(HeadraceError, match=code) as caught:
        read_images(str(folder))
    return caught.value


def test_bytes_are_kept_and_the_folder_is_the_label(folder):
    source = read_images(str(folder))
    files = [folder / label / f"{index}.png" for label in ("cat", "dog") for index in range(2)]
    assert source.table["label"].to_pylist() == [b"cat", b"cat", b"dog", b"dog"]
    assert source.table["image"].to_pylist() == [file.read_bytes() for file in files]
    assert source.places([3]) == [f"{folder}/dog/1.png"]
    assert source.size_bytes == sum(file.stat().st_size for file in files)


def test_colour_jpeg_images_are_read(tmp_path):
    for label in ("a", "b"):
        image(tmp_path / label / "0.jpg", "RGB", (5, 7))
    assert read_images(str(tmp_path)).table.num_rows == 2


@pytest.mark.parametrize("keep", [0, 10, 60])
def test_a_truncated_png_is_named(folder, keep):
    path = folder / "dog" / "1.png"
    path.write_bytes(path.read_bytes()[:keep])
    error = refused(folder, "HR-DATA-021")
    assert error.what == f"1 of 4 images in {folder} cannot be decoded"
    assert error.seen[0].startswith(f"{path}: ")
    assert error.fix == [f"replace them, or leave them out:  rm {path}"]


def test_a_png_with_a_flipped_bit_is_named(tmp_path):
    from PIL import Image

    for label in ("a", "b"):
        path = tmp_path / label / "0.png"
        image(path)
    Image.effect_noise((8, 8), 90).save(path)
    content = bytearray(path.read_bytes())
    content[content.index(b"IDAT") + 30] ^= 1
    path.write_bytes(bytes(content))
    assert str(path) in refused(tmp_path, "HR-DATA-021").seen[0]


def test_a_truncated_jpeg_is_named(tmp_path):
    from PIL import Image

    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        Image.effect_noise((64, 64), 90).save(tmp_path / label / "0.jpg")
    path = tmp_path / "b" / "0.jpg"
    path.write_bytes(path.read_bytes()[:-400])
    assert "truncated" in refused(tmp_path, "HR-DATA-021").seen[0]


def test_all_bad_images_are_counted(folder):
    for index in range(9):
        (folder / "cat" / f"bad{index}.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    error = refused(folder, "HR-DATA-021")
    assert error.what.startswith("9 of 13 images")
    assert (len(error.seen), error.more_seen) == (5, 4)


def test_an_image_of_another_size_or_mode_is_named(folder):
    small, colour = image(folder / "cat" / "small.png", size=(7, 8)), image(folder / "dog" / "z.png", "RGB")
    error = refused(folder, "HR-DATA-022")
    assert error.what == "2 of 6 images have another size or mode than 8x8 L"
    assert error.seen == [f"{small}: 7x8 L", f"{colour}: 8x8 RGB"]


@pytest.mark.parametrize(("mode", "shown"), [("P", "P"), ("RGBA", "RGBA"), ("LA", "LA"), ("1", "1"), ("I;16", "I")])
def test_palettes_alpha_one_bit_and_16_bits_are_refused_clearly(folder, mode, shown):
    path = image(folder / "cat" / "odd.png", mode)
    error = refused(folder, "HR-DATA-023")
    assert error.seen[0].startswith(f"{path}: PNG of mode {shown}")
    assert "16 bits" in error.seen[0] or mode != "I;16"


def test_a_16_bit_colour_png_is_refused_though_pillow_shows_it_as_8_bits(folder):
    import struct
    import zlib

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    lines = (b"\x00" + b"\x12\x34" * 3 * 8) * 8
    header = struct.pack(">IIBBBBB", 8, 8, 16, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    (folder / "cat" / "deep.png").write_bytes(content)
    assert "16 bits" in refused(folder, "HR-DATA-023").seen[0]


def test_the_printed_conversion_works(folder):
    import subprocess
    import sys

    image(folder / "cat" / "odd.gif", "P")
    error = refused(folder, "HR-DATA-023")
    assert error.seen == [f"{folder}/cat/odd.gif: GIF"]
    subprocess.run(error.fix[0].replace("python3", sys.executable), shell=True, check=True)
    (folder / "cat" / "odd.gif").unlink()
    assert read_images(str(folder)).table.num_rows == 5


def test_a_file_that_is_no_image_is_named(folder):
    (folder / "dog" / "notes.txt").write_text("hello")
    assert refused(folder, "HR-DATA-025").seen == [f"{folder}/dog/notes.txt: 5 bytes"]


def test_files_beside_the_class_folders_and_folders_in_them_are_named(folder):
    (folder / "labels.csv").write_text("x")
    (folder / "cat" / "more").mkdir()
    assert refused(folder, "HR-DATA-025").seen == [f"{folder}/labels.csv", f"{folder}/cat/more"]


def test_class_folders_without_images_are_named(folder):
    (folder / "eel").mkdir()
    error = refused(folder, "HR-DATA-024")
    assert error.what == "1 of 3 class folders hold no images"
    assert error.seen == [f"{folder}/eel"]


def test_a_folder_without_class_folders_is_refused(tmp_path):
    image(tmp_path / "0.png")
    assert refused(tmp_path, "HR-DATA-026").seen == ["0.png"]


def test_a_file_instead_of_a_folder_is_refused(tmp_path):
    refused(image(tmp_path / "0.png"), "HR-DATA-026")


def test_a_missing_folder_is_refused(tmp_path):
    refused(tmp_path / "none", "HR-DATA-001")


def test_an_unreadable_image_is_a_matter_of_permission(folder, another_user):
    read_images(str(folder))
    (folder / "cat" / "0.png").chmod(0)
    with another_user():
        refused(folder, "HR-SYS-002")


def test_progress_ends_below_one_and_counts_images(folder):
    seen = []
    read_images(str(folder), lambda fraction, note: seen.append((fraction, note)))
    assert seen == [(0.0, "0 of 4 images")]


def test_unknown_bytes_with_an_image_name_are_corrupt_not_foreign(folder):
    (folder / "cat" / "x.jpeg").write_bytes(b"junk")
    refused(folder, "HR-DATA-021")
