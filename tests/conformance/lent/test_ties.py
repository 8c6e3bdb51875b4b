from conformance.test_ties import *  # noqa: F403
