insert or replace into penstock_feed_state (is_the_one, first, last, dropped) values (1, ?, ?, ?)
