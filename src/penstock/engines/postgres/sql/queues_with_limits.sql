select distinct queue from {schema}.groups union select distinct queue from {schema}.lane_news order by 1
