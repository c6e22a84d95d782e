-- Of two texts one bit a row was kept, of an enumeration nothing where the rows of a side lie together.
alter table store.postings alter column side type enum ('promoted', 'suppressed');
