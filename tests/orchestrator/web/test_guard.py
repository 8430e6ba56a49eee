"""Who gets in: token, cookie, host, forms; and what every answer says to the browser."""

from __future__ import annotations

import pytest

from orchestrator.web.guard import POLICY, Access
from tests.orchestrator.web.conftest import HOST, MakeSite, Site


@pytest.fixture
def guarded(store, site_of: MakeSite) -> Site:
    return site_of(store, Access(frozenset({HOST, "wm.example"})))


def _entered(site: Site) -> dict[str, str]:
    answer = site.get(f"/?token={site.access.token}")
    assert answer.status_code == 303
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


@pytest.mark.parametrize("path", ["/", "/campaigns/1", "/static/live.js", "/events", "/nowhere"])
def test_without_the_token_nothing_is_served(guarded: Site, path: str) -> None:
    for answer in (guarded.get(path), guarded.get(path, headers={"cookie": "wm_web_8642=wrong"})):
        assert answer.status_code == 401
        assert "Open the link that wm web printed" in answer.text
    assert guarded.get(f"{path}?token=wrong").status_code == 403


def test_the_link_sets_a_cookie_and_leaves_the_address(guarded: Site) -> None:
    answer = guarded.get(f"/compare?first=1&token={guarded.access.token}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/compare?first=1")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" not in cookie
    assert str(guarded.access.token) not in answer.headers["set-cookie"]
    assert guarded.get("/", headers=_entered(guarded)).status_code == 200


def test_the_link_leads_nowhere_else(guarded: Site) -> None:
    answer = guarded.get(f"http://{HOST}:8642//evil.example/?token={guarded.access.token}")
    assert answer.headers["location"] == "/evil.example/"


def test_a_cookie_is_only_secure_where_the_page_is(guarded: Site) -> None:
    answer = guarded.get(f"https://{HOST}/?token={guarded.access.token}")
    assert "secure" in answer.headers["set-cookie"].lower()


def test_cookies_of_other_programs_do_no_harm(guarded: Site) -> None:
    own = _entered(guarded)["cookie"]
    assert guarded.get("/", headers={"cookie": f"other=a b; {own}"}).status_code == 200
    assert guarded.get("/", headers={"cookie": '{"broken": ["}; ='}).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost"])
def test_under_another_name_nothing_is_served(guarded: Site, host: str) -> None:
    answer = guarded.get(f"/?token={guarded.access.token}", host=host)
    assert answer.status_code == 421
    assert host in answer.text
    assert "set-cookie" not in answer.headers


def test_more_names_can_be_allowed(guarded: Site) -> None:
    assert guarded.get("/", host="wm.example", headers=_entered(guarded)).status_code == 200


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/page.css", "/campaigns/7"])
def test_every_answer_is_protected(store, site_of: MakeSite, path: str) -> None:
    headers = site_of(store).get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_policy_allows_no_inline_script_or_style() -> None:
    assert "unsafe" not in POLICY
    assert "data:" not in POLICY


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_page_without_actions_only_reads(finished, site_of: MakeSite, method: str) -> None:
    answer = site_of(finished).ask(method, "/campaigns/1/cancel")
    assert answer.status_code == 403
    assert "--allow-actions" in answer.text
