# SPDX-License-Identifier: Apache-2.0
"""Say what a run found: terminal, JSON, JUnit, Markdown, HTML and plots."""
