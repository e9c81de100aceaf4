# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from vllm_soak.report.picture import terminal_svg


def test_the_picture_is_the_report_and_loads_nothing(ab_run, ab_verdict):
    svg = terminal_svg(ab_run, ab_verdict)
    words = "".join(ET.fromstring(svg).itertext()).replace("\xa0", " ")
    assert "new_block_ids" in words
    assert "LEAK FOUND, AND FIXED BY THE PATCH" in words
    assert set(re.findall(r"https?://[^\s\"'<)]+", svg)) <= {
        "http://www.w3.org/2000/svg",
        "https://www.textualize.io",
    }
    assert "url(http" not in svg


def test_the_picture_is_the_same_every_time(ab_run, ab_verdict):
    assert terminal_svg(ab_run, ab_verdict) == terminal_svg(ab_run, ab_verdict)
