select {_schedule_columns} from {schema}.schedules order by id
