from conformance.test_windows import *  # noqa: F403
