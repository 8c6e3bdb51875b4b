select id, token from temp.penstock_ends
