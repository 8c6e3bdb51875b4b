delete from temp.penstock_ends
