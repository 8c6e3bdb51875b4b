select {columns} from {rows(id uuid)} join {jobs} j on j.id = e.id
