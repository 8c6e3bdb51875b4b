select until from beats where worker = ?
