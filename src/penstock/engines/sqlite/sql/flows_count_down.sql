update penstock_flows set unfinished = unfinished - 1 where id = ? returning unfinished
