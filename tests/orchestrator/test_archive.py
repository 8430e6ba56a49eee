"""Archives: from one store to another and back, again and again, and only undamaged."""

from __future__ import annotations

import hashlib
import json
import random
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator import results
from orchestrator.archive import document, import_archive, write_archive
from orchestrator.errors import ArchiveError, OutputError
from orchestrator.launch import launch
from orchestrator.store import campaigns
from orchestrator.store.campaigns import find_campaign
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import (
    CampaignState,
    JobState,
    artifact,
    attempt,
    forgery_answer,
    global_proof,
    job,
    job_need,
    outcome,
)
from tests.sharing import run_to_end

TABLES = (artifact, attempt, forgery_answer, global_proof, job, job_need, outcome)


@pytest.fixture(scope="module")
def archive(finished_file, tmp_path_factory):
    """The archive of a finished campaign."""
    path = tmp_path_factory.mktemp("archives") / "small.zip"
    with closing(Store(f"sqlite:///{finished_file}")) as store:
        write_archive(store, 1, path)
    return path


def opened(url):
    return closing(Store(url))


def counts(store):
    return {table.name: store.rows(sa.select(sa.func.count()).select_from(table))[0][0] for table in TABLES}


def everything(store, name="small"):
    """Return all that `wm results` shows of a campaign, as text."""
    record = find_campaign(store, name)
    frames = {name: results.frame(store, record.id, name) for name in results.COLUMNS}
    frames["jobs"] = frames["jobs"].drop(columns="job")
    return {name: frame.to_csv() for name, frame in frames.items()} | {
        "fingerprint": results.fingerprint(store, record.id),
        "state": record.state,
        "created_at": record.created_at,
        "finished_at": record.finished_at,
        "provenance": record.provenance,
    }


def test_from_sqlite_to_postgresql_and_back_with_equal_results_and_bytes(
    finished, archive, postgres_url, tmp_path
):
    expected = everything(finished)
    assert expected["state"] is CampaignState.FINISHED
    there_and_back = [archive]
    for number, url in enumerate([postgres_url, f"sqlite:///{tmp_path / 'back.db'}"]):
        with opened(url) as store:
            done = import_archive(store, there_and_back[-1])
            assert not done.was_there
            assert (done.jobs, done.outcomes) == (13, 13)
            assert done.answers > 0
            assert done.artifacts > 0
            assert everything(store) == expected
            assert counts(store) == counts(finished)
            there_and_back.append(tmp_path / f"{number}.zip")
            write_archive(store, done.campaign_id, there_and_back[-1])
    assert len({path.read_bytes() for path in there_and_back}) == 1


def test_a_second_import_changes_nothing(store, archive):
    first = import_archive(store, archive)
    before = counts(store), everything(store)
    again = import_archive(store, archive)
    assert again.was_there
    assert (again.campaign_id, again.outcomes, again.answers, again.artifacts) == (first.campaign_id, 0, 0, 0)
    assert (counts(store), everything(store)) == before


def test_ids_are_remapped_where_the_store_has_other_campaigns(store, spec, finished, archive):
    launch(store, spec.model_copy(update={"name": "other", "seed": 7}))
    done = import_archive(store, archive)
    assert done.campaign_id == 2
    assert everything(store) == everything(finished)
    assert campaigns.progress(store, 1).jobs[JobState.DONE] == 0


def test_a_campaign_that_has_only_begun_here_gets_what_it_lacks_and_keeps_what_it_has(
    store, spec, finished, archive
):
    campaign_id = launch(store, spec)
    ledger = StoreLedger(store)
    (first,) = store.rows(sa.select(job.c.id).where(job.c.state == JobState.READY).limit(1))
    assert ledger.lease(first.id, "a worker") is not None, "running while the archive is imported"
    done = import_archive(store, archive)
    assert (done.was_there, done.campaign_id, done.outcomes) == (True, campaign_id, 13)
    assert results.fingerprint(store, campaign_id) == results.fingerprint(finished, 1)
    assert find_campaign(store, "small").state is CampaignState.FINISHED
    assert not ledger.heartbeat(first.id, "a worker"), "its job has an outcome now"


def test_an_unfinished_campaign_goes_on_where_it_was(finished, spec, tmp_path):
    with finished.write() as connection:
        connection.execute(sa.delete(outcome).where(outcome.c.job_id > 6))
        connection.execute(sa.delete(forgery_answer).where(forgery_answer.c.instance % 2 == 0))
        connection.execute(sa.update(job).where(job.c.id > 6).values(state=JobState.CANCELLED))
    path = tmp_path / "unfinished.zip"
    write_archive(finished, 1, path)
    with opened(f"sqlite:///{tmp_path / 'other.db'}") as store:
        done = import_archive(store, path)
        assert done.outcomes == 6
        assert find_campaign(store, "small").state is CampaignState.INTERRUPTED
        run_to_end(store, done.campaign_id)
        assert find_campaign(store, "small").state is CampaignState.FINISHED


def test_it_names_no_machine(finished, archive):
    owners = finished.rows(sa.select(outcome.c.owner).distinct())
    with zipfile.ZipFile(archive) as file:
        content = b"".join(file.read(name) for name in file.namelist())
    assert owners
    for row in owners:
        assert row.owner.split(":")[0].encode() not in content


def test_an_existing_file_stays(finished, archive):
    before = archive.read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        write_archive(finished, 1, archive)
    assert archive.read_bytes() == before


def test_a_file_that_could_not_be_written_whole_is_not_there(finished, tmp_path):
    with finished.write() as connection:
        connection.execute(sa.update(artifact).values(data=b"other bytes"))
    with pytest.raises(Exception, match="other bytes than its name says"):
        write_archive(finished, 1, tmp_path / "a.zip")
    assert list(tmp_path.glob("a.zip")) == []


# Damaged and malicious archives


def repacked(archive: Path, path: Path, change) -> Path:
    """Copy an archive with other parts: `change` maps names to bytes, and is asked to change that."""
    with zipfile.ZipFile(archive) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return path


def rehashed(parts):
    """Let the manifest name the hashes of what the parts are now."""
    manifest = json.loads(parts[document.MANIFEST])
    manifest["members"] = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in parts.items()
        if name != document.MANIFEST
    }
    parts[document.MANIFEST] = json.dumps(manifest).encode()


def set_manifest(parts, **values):
    parts[document.MANIFEST] = json.dumps(json.loads(parts[document.MANIFEST]) | values).encode()


def replace_in(name, old, new):
    def change(parts):
        assert old in parts[name]
        parts[name] = parts[name].replace(old, new)
        rehashed(parts)

    return change


def unnamed_artifact(parts):
    name = next(name for name in parts if name.startswith(document.ARTIFACTS))
    parts[name] += b"!"
    rehashed(parts)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda parts: parts.update({document.JOBS: parts[document.JOBS] + b"\n"}), "jobs.jsonl is damaged"),
        (lambda parts: parts.pop(document.ANSWERS), "parts are not those of its manifest"),
        (lambda parts: parts.update(more=b""), "parts are not those of its manifest"),
        (lambda parts: parts.pop(document.MANIFEST), "is not an archive of a campaign"),
        (
            lambda parts: set_manifest(parts, version=2),
            "version 2 of the format, this program reads 1: upgrade",
        ),
        (lambda parts: set_manifest(parts, format="else"), "is not an archive of a campaign"),
        (unnamed_artifact, "has another hash"),
        (replace_in(document.JOBS, b'"kind":"split"', b'"kind":7'), "jobs.jsonl, line 1: kind: "),
        (replace_in(document.JOBS, b'"needs":["', b'"needs":["0'), "jobs.jsonl, line 2: needs.0: "),
        (replace_in(document.ANSWERS, b'"job":', b'"job":99'), "of job 99"),
        (
            replace_in(document.CAMPAIGN, b'"forest"', b'"trees"'),
            "campaign is not one that this program knows",
        ),
        (
            replace_in(document.CAMPAIGN, b'"kind":"forgery"', b'"kind":"lean"'),
            "attack 'lean' is not installed here",
        ),
        (replace_in(document.JOBS, b'"cell":{', b'"cell":{"depth":1,'), "has no place"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_damaged_archive_is_refused_in_one_line_and_nothing_is_imported(
    store, archive, tmp_path, change, text
):
    path = repacked(archive, tmp_path / "damaged.zip", change)
    with pytest.raises(ArchiveError) as caught:
        import_archive(store, path)
    assert text in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert counts(store) == dict.fromkeys(counts(store), 0)


def test_whatever_bytes_are_damaged_nothing_wrong_is_imported(finished, archive, tmp_path):
    """Cut short, or with other bytes: refused, or read as it was, as some bytes of a ZIP file have no use."""
    whole, draw = archive.read_bytes(), random.Random(1)  # noqa: S311 - which bytes is no secret
    expected = results.fingerprint(finished, 1)
    for number in range(40):
        data = bytearray(whole)
        if number % 4 == 0:
            del data[draw.randrange(len(data)) :]
        else:
            for _ in range(3):
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path = tmp_path / "damaged.zip"
        path.write_bytes(data)
        with opened(f"sqlite:///{tmp_path / f'{number}.db'}") as store:
            try:
                done = import_archive(store, path)
            except ArchiveError:
                continue
            assert results.fingerprint(store, done.campaign_id) == expected


def test_proofs_keep_their_subject_and_who_found_them(finished, store, tmp_path):
    ((embed,),) = finished.rows(sa.select(job.c.id).where(job.c.kind == "embed"))
    finder = finished.rows(sa.select(job.c.id).where(job.c.kind == "forgery"))[0].id
    rows = [
        {"embed_id": embed, "subject": "a" * 64, "label": 0, "job_id": finder},
        {"embed_id": embed, "subject": "b" * 64, "label": 1, "job_id": None},
    ]
    with finished.write() as connection:
        connection.execute(sa.delete(global_proof))
        connection.execute(sa.insert(global_proof), rows)
    write_archive(finished, 1, tmp_path / "a.zip")
    import_archive(store, tmp_path / "a.zip")
    found = store.rows(sa.select(global_proof).order_by(global_proof.c.label))
    assert [dict(row._mapping) for row in found] == rows, "the same ids in an empty store"
