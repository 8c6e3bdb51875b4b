select {columns_without_payload} from {jobs} j where j.finished_at is not null and {where} order by j.id desc limit :limit
