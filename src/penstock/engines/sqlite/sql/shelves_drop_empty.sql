delete from penstock_shelves where n = 0
