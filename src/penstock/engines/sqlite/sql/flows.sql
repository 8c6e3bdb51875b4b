select * from penstock_flows where :after is null or id < :after order by id desc limit :limit
