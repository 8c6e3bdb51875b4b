update {schedules} set next_at = :next_at where id = :id
