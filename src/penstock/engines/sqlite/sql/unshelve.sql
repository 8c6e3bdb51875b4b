update penstock_finished set shelf = null
where id in (select id from penstock_finished where coalesce(shelf, queue) = ? and not traits & 64 limit ?)
returning queue, state
