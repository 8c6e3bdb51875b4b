from conformance.test_groups import *  # noqa: F403
