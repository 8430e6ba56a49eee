"""Commitment and draw of a claim file of version 3, recomputed from its JSON with the standard library alone.

Written from the text in `wm.claims.pooled` and `wm.claims.draw`; nothing of `wm` is imported.
"""

import base64
import hashlib
import hmac
import json
import struct


def commitment_and_draw(text):
    """Return the commitment, the numbers of the trigger rows, and the bits; for beacons notary and none."""
    claim = json.loads(text)
    header, salt, secret = claim["header"], bytes.fromhex(claim["salt"]), bytes.fromhex(claim["secret"])
    rows, labels = base64.b64decode(claim["rows"]), base64.b64decode(claim["labels"])
    width = 4 * len(header["feature_names"])
    canonical = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    leaves = [_leaf(b"header", canonical, salt, b"header"), _leaf(b"secret", secret, salt, b"secret")]
    for i, label in enumerate(labels):
        number = struct.pack("<Q", i)
        content = number + rows[i * width : (i + 1) * width] + bytes([label])
        leaves.append(_leaf(b"row", content, salt, b"row" + number))
    root = _root(leaves)
    values = [_value(receipt) for receipt in claim["receipts"]]
    value = values[0] if len(values) == 1 else hashlib.sha256(b"".join(values)).digest()
    key = _mac(secret, root + value)
    triggers = sorted(_first(key, b"row", len(labels), header["trigger_size"]))
    marked = _first(key, b"bit" + struct.pack("<Q", 0), header["trees"], header["ones"])
    return root.hex(), triggers, [int(tree in marked) for tree in range(header["trees"])]


def _leaf(kind, content, salt, name):
    return hashlib.sha256(b"\0treeproof/" + kind + b"/v3\0" + content + _mac(salt, name)).digest()


def _root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while 2 * split < len(leaves):
        split *= 2
    return hashlib.sha256(b"\1" + _root(leaves[:split]) + _root(leaves[split:])).digest()


def _value(receipt):
    if receipt["kind"] == "none":
        return bytes.fromhex(receipt["content"])
    return hashlib.sha256(base64.b64decode(json.loads(receipt["content"])["payload"])).digest()


def _first(key, prefix, count, size):
    return sorted(range(count), key=lambda number: _mac(key, prefix + struct.pack("<Q", number)))[:size]


def _mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()
