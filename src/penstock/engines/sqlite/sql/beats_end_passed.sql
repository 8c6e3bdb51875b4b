delete from beats where until <= ?
