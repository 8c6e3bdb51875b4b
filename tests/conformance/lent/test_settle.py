from conformance.test_settle import *  # noqa: F403
