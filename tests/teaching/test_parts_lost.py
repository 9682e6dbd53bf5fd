"""Nothing that is in `my_gpt.py` is lost: another answer, a broken file, a failed write."""

import os
import stat

import pytest

from course_utils.teaching import parts
from course_utils.teaching.parts import PartsError, my_parts
from tests.teaching.support_reader import (
    MIX_CELL,
    OTHER_SHARES_CELL,
    SHARES_CELL,
    SIMPLE,
    TWICE_CELL,
)


class TestNothingIsLost:
    def test_another_one_is_replaced_when_asked(self, reader):
        reader.check("shares", SHARES_CELL)
        reader.check("mix_rows", MIX_CELL)
        before = reader.text
        said = reader.check("shares", OTHER_SHARES_CELL)
        call = "exercises.check_shares(shares, replace=True)"
        assert said == (f"my_gpt.py has another `shares`. To replace it by this one, run `{call}`.")
        assert reader.text == before and not reader.replaced.exists()
        verdict = reader.run(call)
        assert verdict.message == (
            "Right. Kept as `shares` in my_gpt.py. The other one is now in my_gpt_replaced.py."
        )
        assert reader.text == before.replace(SHARES_CELL.strip(), OTHER_SHARES_CELL.strip())
        assert reader.replaced.read_text("utf-8").strip() == SHARES_CELL.strip()

    def test_replaced_again_and_again_all_are_there(self, reader):
        reader.check("shares", SHARES_CELL)
        reader.check("shares", OTHER_SHARES_CELL, replace=True)
        reader.check("shares", "def shares(x): return x.softmax(1)", replace=True)
        kept = reader.replaced.read_text("utf-8")
        assert SHARES_CELL.strip() in kept and OTHER_SHARES_CELL.strip() in kept

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_what_the_reader_wrote_stays(self, reader, newline):
        reader.check("shares", SHARES_CELL)
        ours = reader.text.replace("# shares: Build shares", "# My own\nwidth = 64  # \x0c wide")
        by_hand = (ours + "# after it, with no line end").replace("\n", newline).encode()
        reader.file.write_bytes(by_hand)
        assert reader.check("Twice", TWICE_CELL) == "Kept as `Twice` in my_gpt.py."
        assert reader.file.read_bytes().startswith(by_hand)
        reader.check("shares", OTHER_SHARES_CELL, replace=True)
        content = reader.file.read_bytes()
        head, tail = by_hand.split(SHARES_CELL.strip().replace("\n", newline).encode())
        assert content.startswith(head) and tail.strip() in content
        assert SHARES_CELL.strip().splitlines()[1].encode() in reader.replaced.read_bytes()

    def test_an_edit_by_hand_inside_a_part_is_another_part(self, reader):
        reader.check("shares", SHARES_CELL)
        edited = reader.text.replace("keepdim=True)\n", "keepdim=True) * 1.0\n")
        reader.file.write_text(edited, encoding="utf-8")
        assert "has another `shares`" in reader.check("shares")
        assert reader.text == edited

    def test_of_two_definitions_the_last_counts(self, reader):
        reader.check("shares", SHARES_CELL)
        twice = reader.text + "\n\n" + OTHER_SHARES_CELL
        reader.file.write_text(twice, encoding="utf-8")
        assert reader.check("shares", OTHER_SHARES_CELL) == "`shares` is in my_gpt.py."
        assert reader.text == twice

    def test_deleted_it_begins_again(self, reader):
        reader.check("shares", SHARES_CELL)
        reader.file.unlink()
        assert reader.check("shares") == "Kept as `shares` in my_gpt.py."
        reader.file.write_text(" \n", encoding="utf-8")
        assert reader.check("shares") == "Kept as `shares` in my_gpt.py."
        assert reader.text.startswith(parts.HEADER)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"def f(:\n", "the file is not valid Python (invalid syntax (my_gpt.py, line 1))"),
            ("# für\n".encode("latin-1"), "the file is not saved as UTF-8. Save it as UTF-8"),
            (b"def f(a, a): ...\n", "the file is not valid Python (duplicate argument 'a'"),
            (b"nonlocal x\n", "the file is not valid Python (nonlocal"),
            (b"def f():\n  return 1\nreturn 2\n", "the file is not valid Python ('return' outside"),
            (b"x = 1\0", "the file is not valid Python ("),
            (b"x = y\n", "the file stops with NameError: name 'y' is not defined. Fix that first."),
            (b"raise SystemExit(3)\n", "the file stops with SystemExit: 3. Fix that first."),
        ],
    )  # fmt: skip
    def test_a_file_that_does_not_run(self, reader, folder, content, said):
        reader.file.write_bytes(content)
        assert f"Not kept in my_gpt.py: {said}" in reader.check("shares", SIMPLE)
        assert reader.file.read_bytes() == content
        with pytest.raises(PartsError):
            my_parts(folder)

    def test_a_byte_order_mark_is_no_error(self, reader):
        reader.file.write_bytes(b"\xef\xbb\xbfwidth = 64\r\n")
        assert reader.check("shares", SIMPLE) == "Kept as `shares` in my_gpt.py."

    def test_read_only(self, reader):
        reader.check("shares", SHARES_CELL)
        before = reader.text
        reader.file.chmod(stat.S_IRUSR)
        assert reader.check("Twice", TWICE_CELL) == (
            "Not kept in my_gpt.py: the file is read-only."
        )
        assert reader.text == before
        assert reader.check("shares") == "`shares` is in my_gpt.py."

    def test_a_folder_in_its_place(self, reader, folder):
        reader.file.mkdir()
        said = reader.check("shares", SIMPLE)
        assert said.startswith("Not kept in my_gpt.py: it cannot be read or written (")
        with pytest.raises(PartsError):
            my_parts(folder)

    @pytest.mark.parametrize("edit", ["saved", "deleted"])
    def test_changed_elsewhere_between_reading_and_writing(self, reader, folder, edit):
        """The cell's second run, from the file, is the moment at which somebody saves it."""
        reader.check("shares", SHARES_CELL)
        act = "write_text('width = 64')" if edit == "saved" else "unlink()"
        cell = f"""
def mix_rows(x):
    from pathlib import Path
    if __name__ == "my_gpt":
        Path({str(reader.file)!r}).{act}
    return x.softmax(-1) @ x.T
"""
        said = reader.check("mix_rows", cell)
        assert said == (
            "Not kept in my_gpt.py: the file changed while this cell ran. Run it again."
        )
        assert (reader.text == "width = 64") if edit == "saved" else not reader.file.exists()
        assert [name for name in os.listdir(folder) if name.endswith(".part")] == []

    def test_a_write_that_fails(self, reader, folder, monkeypatch):
        reader.check("shares", SHARES_CELL)
        before = reader.text

        def full(*arguments):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        assert reader.check("Twice", TWICE_CELL) == (
            "Not kept in my_gpt.py: it cannot be read or written (No space left on device)."
        )
        assert reader.text == before and len(os.listdir(folder)) == 2

    @pytest.mark.skipif(os.name == "nt", reason="Windows lets few users make links")
    def test_a_link_and_its_mode_stay(self, reader, tmp_path):
        linked = tmp_path / "repository" / "gpt.py"
        linked.parent.mkdir()
        linked.write_text("width = 64\n")
        linked.chmod(0o640)
        reader.file.symlink_to(linked)
        assert reader.check("shares", SIMPLE) == "Kept as `shares` in my_gpt.py."
        assert reader.file.is_symlink() and "def shares" in linked.read_text()
        assert stat.S_IMODE(linked.stat().st_mode) == 0o640
        assert os.listdir(linked.parent) == ["gpt.py"]

    def test_what_nobody_thought_of_leaves_the_verdict(self, reader, monkeypatch):
        def broken(text, name):
            raise LookupError("no such thing")

        monkeypatch.setattr(parts, "find", broken)
        assert (
            reader.check("shares", SIMPLE) == "Not kept in my_gpt.py: LookupError: no such thing."
        )
