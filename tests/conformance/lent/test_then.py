from conformance.test_then import *  # noqa: F403
