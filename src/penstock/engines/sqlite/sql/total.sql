select measures from penstock_totals where queue = ? and task = ?
