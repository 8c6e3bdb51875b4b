select coalesce(sum(n), 0)::bigint from {schema}.counts where state = 'dead'
