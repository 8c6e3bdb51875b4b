delete from beats where worker = ?
