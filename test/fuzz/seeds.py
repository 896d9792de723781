#!/usr/bin/env python3
"""seeds.py -- write the seeds of npz_fuzz and safetensors_fuzz anew, beside this file.

Needs nothing but Python. The files are small: every form that the readers know, once."""
import io
import json
import os
import struct
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
NET = (("layer[0].w", "<f4", (2, 3)), ("layer[0].b", "<f4", (3,)),
       ("layer[1].w", "<f4", (3, 2)), ("layer[1].b", "<f4", (2,)))


def npy(descr, shape, data, fortran=False, version=1):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %r, }" % (descr, fortran, shape)
    fixed = 10 if version == 1 else 12
    head = head + " " * (-(fixed + len(head) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(head))
    return b"\x93NUMPY" + bytes([version, 0]) + length + head.encode() + data


def count(shape):
    n = 1
    for d in shape:
        n *= d
    return n


class Stream(io.RawIOBase):
    """Cannot seek: members are followed by a record of their lengths."""

    def __init__(self):
        self.parts = []

    def writable(self):
        return True

    def write(self, b):
        self.parts.append(bytes(b))
        return len(b)


def archive(members, method=zipfile.ZIP_STORED, stream=False, zip64=False, comment=b""):
    out = Stream() if stream else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        z.comment = comment
        for name, data in members:
            info = zipfile.ZipInfo(name + ".npy")
            info.compress_type = method
            with z.open(info, "w", force_zip64=zip64) as f:
                f.write(data)
    return b"".join(out.parts) if stream else out.getvalue()


def tensors(entries, metadata=None, pad=8):
    head, at, data = {}, 0, b""
    if metadata:
        head["__metadata__"] = metadata
    for name, dtype, shape, raw in entries:
        head[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        data += raw
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % pad)
    return struct.pack("<Q", len(text)) + text + data


def floats(n):
    return struct.pack("<%df" % n, *[i / 4 for i in range(n)])


def main():
    net = [(n, npy(d, s, floats(count(s)))) for n, d, s in NET]
    odd = [("b", npy("|b1", (3,), b"\1\0\2")), ("i", npy("<i8", (), struct.pack("<q", -5))),
           ("s", npy(">i4", (2,), struct.pack(">2i", 1, -2))),
           ("f", npy("<f8", (2, 2), struct.pack("<4d", 1, 2, 3, 4), fortran=True)),
           ("h", npy("<f2", (2,), b"\0\x3c\0\x40")), ("v", npy("|V2", (1,), b"\x80\x3f")),
           ("e", npy("<f4", (0, 3), b""))]
    rep = [("z", npy("<f4", (64,), b"\0" * 256)), ("r", npy("<i4", (40,), bytes(range(160)),
                                                                version=2))]
    npzs = {"net": archive(net), "net_packed": archive(net, zipfile.ZIP_DEFLATED),
            "odd": archive(odd), "odd_zip64": archive(odd, zip64=True),
            "stream": archive(rep, zipfile.ZIP_DEFLATED, stream=True),
            "stream_stored": archive(rep[:1], stream=True), "empty": archive([]),
            "comment": archive(rep, zipfile.ZIP_DEFLATED, comment=b"PK\5\6 a comment")}
    known = [("layer[0].w", "F32", (2, 3), floats(6)), ("layer[0].b", "F32", (3,), floats(3)),
             ("layer[1].w", "F32", (3, 2), floats(6)), ("layer[1].b", "F32", (2,), floats(2))]
    mixed = [("d", "F64", (2,), b"\0" * 16), ("i", "I64", (), b"\5" + b"\0" * 7),
             ("h", "F16", (2,), b"\0\x3c\0\x40"), ("g", "BF16", (1,), b"\x80\x3f"),
             ("b", "BOOL", (3,), b"\1\0\1"), ("w", "F32", (1,), b"\0\0\x80\x3f"),
             ("n", "I32", (0, 4), b"")]
    other = [("u", "U8", (3,), b"abc"), ("q", "F4", (4,), b"ab"), ("c\u00e9", "I8", (1,), b"x")]
    safe = {"net": tensors(known, pad=64), "mixed": tensors(mixed),
            "other": tensors(other, {"made": "by hand\n", "\u20ac": "\U0001f600"}),
            "empty": tensors([]), "metadata": tensors([], {"a": "b"})}
    for folder, files in (("npz_fuzz", npzs), ("safetensors_fuzz", safe)):
        os.makedirs(os.path.join(HERE, folder), exist_ok=True)
        for name, data in files.items():
            with open(os.path.join(HERE, folder, name), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main()
