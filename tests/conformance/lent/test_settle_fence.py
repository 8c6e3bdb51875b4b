from conformance.test_settle_fence import *  # noqa: F403
