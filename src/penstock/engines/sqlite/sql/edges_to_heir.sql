update penstock_edges set after_id = ? where after_id = ? and is_open and on_failure = 'wait'
