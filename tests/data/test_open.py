"""What holds for every format: compression, digests, chunks, limits, formats by name, streams."""

from __future__ import annotations

import gzip
import hashlib
import io
import tracemalloc

import pytest
import zstandard

from gpuclf.data.open import open_reader, open_text_stream
from gpuclf.data.options import DataOptions, bundled_data
from gpuclf.faults import UserFault
from tests.data.reading import Read, read, refusal, write

TSV = "label\ttext\nham\thello there\nspam\twin cash\nham\t\n"


def _packed(kind: str, data: bytes) -> bytes:
    if kind == "gz":
        return gzip.compress(data[:9]) + gzip.compress(data[9:])  # two members, as `cat a.gz b.gz` makes
    if kind == "zst":
        pack = zstandard.ZstdCompressor().compress
        return pack(data[:9]) + pack(data[9:])
    return data


@pytest.mark.parametrize("kind", ["plain", "gz", "zst"])
@pytest.mark.parametrize("name", ["train.tsv", "train.tsv.gz", "train.tsv.zst"])
def test_compression_is_known_by_content_not_by_name(tmp_path, kind, name):
    path = write(tmp_path / name, _packed(kind, TSV.encode()))
    found = read(path)
    assert found.labels == ["ham", "spam", "ham"]
    assert found.texts == ["hello there", "win cash", ""]
    report = found.report
    assert (report.records, report.lines, report.empty_documents) == (3, 4, 1)
    assert report.per_class == {"ham": 2, "spam": 1}
    assert report.bytes == path.stat().st_size
    assert report.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "by the ending .tsv" in found.note("format tsv")


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_cut_off_or_damaged_compressed_files_are_refused(tmp_path, kind):
    pack = gzip.compress if kind == "gz" else zstandard.ZstdCompressor(write_checksum=True).compress
    whole = pack(TSV.encode() * 1000)
    cut = refusal(write(tmp_path / f"cut.tsv.{kind}", whole[:-6]))
    assert "damaged" in cut.message
    assert cut.file == str(tmp_path / f"cut.tsv.{kind}")
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 0xFF
    assert "damaged" in refusal(write(tmp_path / f"broken.tsv.{kind}", bytes(broken))).message


def test_a_big_file_unfolds_in_bounded_steps(tmp_path):
    line = b"a\t" + b"x" * 1000 + b"\n"
    for kind in ("gz", "zst"):
        path = write(tmp_path / f"big.tsv.{kind}", _packed(kind, line * 20_000))
        found = read(path, header=False, label=0, text=1)
        assert found.report.records == 20_000
        assert max(len(chunk) for chunk in found.chunks) <= 4096
        assert set(found.texts) == {"x" * 1000}


@pytest.mark.parametrize("chunk_docs", [1, 2, 3, 100])
def test_chunks_hold_at_most_so_many_documents_in_file_order(tmp_path, chunk_docs):
    path = write(tmp_path / "t.tsv", "".join(f"c{i % 2}\tdoc {i}\n" for i in range(7)))
    found = read(path, header=False, label=0, text=1, chunk_docs=chunk_docs)
    assert found.texts == [f"doc {i}" for i in range(7)]
    assert found.all("ids") == [str(i) for i in range(1, 8)]
    assert found.all("lines") == list(range(1, 8))
    assert [len(chunk) for chunk in found.chunks[:-1]] == [chunk_docs] * (len(found.chunks) - 1)


def test_lines_longer_than_a_block(tmp_path):
    long = "y" * 3_000_000
    path = write(tmp_path / "t.tsv", f"a\t{long}\nb\tz")
    found = read(path, header=False, label=0, text=1)
    assert found.texts == [long, "z"]
    assert found.report.lines == 2


def test_limit_stops_early_and_still_names_the_whole_file(tmp_path):
    path = write(tmp_path / "t.tsv", TSV)
    found = read(path, limit=2)
    assert found.labels == ["ham", "spam"]
    assert found.report.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "data.limit" in found.note("stopped after 2")
    test = write(tmp_path / "test.tsv", TSV)
    reader = open_reader(test, DataOptions(train=path, limit=2))
    assert sum(map(len, reader.chunks())) == 3, "the limit is for the training file"


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.tab", "tsv"),
        ("a.CSV", "csv"),
        ("a.jsonl.gz", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.txt", "fasttext"),
        ("a.svm", "svmlight"),
        ("a.libsvm.zst", "svmlight"),
        ("a.vw", "vw"),
        ("a.parquet", "parquet"),
    ],
)
def test_formats_by_ending(tmp_path, name, format):
    assert open_reader(write(tmp_path / name, ""), DataOptions(train="x")).report.format == format


@pytest.mark.parametrize("name", ["a.json", "a", "a.xml.gz"])
def test_unknown_ending_asks_for_the_format(tmp_path, name):
    fault = refusal(write(tmp_path / name, ""))
    assert fault.key == "data.format"
    assert "svmlight" in (fault.remedy or "")


def test_missing_file_and_folder_in_place_of_a_file(tmp_path):
    assert "no such file" in refusal(tmp_path / "no.tsv").message
    assert "is a folder" in refusal(tmp_path, format="tsv").message


@pytest.mark.parametrize("format", ["fasttext", "svmlight", "vw", "lines", "directory"])
def test_formats_without_columns_refuse_columns(tmp_path, format):
    path = tmp_path if format == "directory" else write(tmp_path / "x", "")
    fault = refusal(path, format=format, categorical=["a"], **({"labels": path} if format == "lines" else {}))
    assert fault.key == "data.categorical"


def test_stream_of_lines_gives_a_document_for_every_line():
    stream = io.BytesIO("\ufeffone\r\n\ntwo\u2028still two\nthree".encode())
    reader = open_text_stream(stream, bundled_data())
    found = Read(list(reader.chunks()), reader.report)
    assert found.texts == ["one", "", "two\u2028still two", "three"]
    assert found.chunks[0].labels is None
    assert found.report.empty_documents == 1


def test_a_stream_answers_before_it_ends():
    pieces = [b"first\nsec", b"ond\n", b""]

    class Pipe(io.RawIOBase):
        def read1(self, size: int) -> bytes:
            return pieces.pop(0)

    chunks = open_text_stream(Pipe(), bundled_data()).chunks()  # type: ignore[arg-type]
    assert next(chunks).texts == ["first"]
    assert next(chunks).texts == ["second"]
    assert list(chunks) == []


def test_streams_of_other_formats():
    options = DataOptions(train="x", header=False, columns=["label", "text"])
    reader = open_text_stream(io.BytesIO(gzip.compress(b"a\tx\nb\ty\n")), options, format="tsv", labelled=True)
    assert Read(list(reader.chunks()), reader.report).labels == ["a", "b"]
    for format in ("parquet", "directory", "xml"):
        with pytest.raises(UserFault, match="cannot be read from a stream"):
            open_text_stream(io.BytesIO(), options, format=format)


def test_bundled_data_read_whole():
    for name, records in (("train", 10003), ("test", 3080)):
        options = bundled_data()
        reader = open_reader(options.train.with_name(f"{name}.tsv.gz"), options)
        assert sum(map(len, reader.chunks())) == records
        assert reader.report.records == reader.report.lines == records
        assert len(reader.report.per_class) == 77


def test_a_reader_reads_once(tmp_path):
    reader = open_reader(write(tmp_path / "t.tsv", TSV), DataOptions(train="x"))
    list(reader.chunks())
    with pytest.raises(AssertionError, match="once"):
        list(reader.chunks())


def test_without_labels_no_labels_are_given(tmp_path):
    found = read(write(tmp_path / "t.tsv", TSV), labelled=False)
    assert [chunk.labels for chunk in found.chunks] == [None]
    assert found.report.per_class == {}


@pytest.mark.parametrize("bad", [25, 2])
def test_many_doubtful_lines_are_listed_up_to_twenty(tmp_path, bad):
    path = write(tmp_path / "t.tsv", "a\tgood\n" + "bad line\n" * bad)
    fault = refusal(path, header=False, columns=["label", "text"])
    text = str(fault)
    assert text.count(f"{path}:") >= min(bad, 20)
    assert f"{bad} doubtful records" in text
    assert ("20 of them shown" in text) == (bad > 20)
    assert text.count("give every line the same fields") == 1, "each remedy once"
    assert "data.on_bad: skip" in text


def test_skipped_records_are_counted_and_told(tmp_path):
    path = write(tmp_path / "t.tsv", "a\tgood\nbad\nb\tfine\n")
    found = read(path, header=False, columns=["label", "text"], on_bad="skip")
    assert found.labels == ["a", "b"]
    assert found.all("ids") == ["1", "3"], "numbers are those of the file"
    assert (found.report.records, found.report.skipped, found.report.lines) == (2, 1, 3)
    assert "line 2" in found.note("left out 1 bad record")


def test_look_alike_labels_are_told_and_kept_apart(tmp_path):
    path = write(tmp_path / "t.tsv", "ham\tx\nham \ty\ncafé\tz\ncafe\u0301\tw\n")
    found = read(path, header=False, columns=["label", "text"])
    assert len(found.report.per_class) == 4
    assert len([note for note in found.report.notes if "look alike" in note]) == 2


def test_memory_is_bounded_by_a_chunk_not_by_the_file(tmp_path):
    line = b"a\t" + b"word " * 200 + b"\n"
    path = write(tmp_path / "big.tsv.gz", gzip.compress(line * 40_000, 1))  # 40 MB of text
    options = DataOptions(train=path, header=False, columns=["label", "text"])
    list(open_reader(path, options.model_copy(update={"limit": 1})).chunks())  # imports
    tracemalloc.start()
    docs = sum(len(chunk) for chunk in open_reader(path, options, chunk_docs=512).chunks())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert docs == 40_000
    assert peak < 28 << 20
