select state, n from penstock_counts where queue = :shelf
union all
select state, n from penstock_shelves where shelf = :shelf
