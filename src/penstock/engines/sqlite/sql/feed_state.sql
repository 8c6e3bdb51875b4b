select first, last, dropped from penstock_feed_state
