delete from penstock_feed where number <= ?
