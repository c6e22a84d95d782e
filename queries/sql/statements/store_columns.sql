-- Columns of the tables of measurements, with their types.
select table_name, column_name, data_type
from duckdb_columns()
where schema_name = 'store' and not internal
order by table_name, column_index
