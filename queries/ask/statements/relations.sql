-- Every view and table of the warehouse with its comment: views as people query them, tables of the store after them.
-- Tables that hold the rows of views are left out.
select view_name as name, 'view' as kind, comment, 1 as place,
from duckdb_views()
where not internal and schema_name = 'main' and database_name = current_database()
union all
select 'store.' || table_name as name, 'table' as kind, comment, 2 as place,
from duckdb_tables()
where
    not internal
    and schema_name = 'store'
    and database_name = current_database()
    and not starts_with(table_name, 'kept_')
order by place, name
