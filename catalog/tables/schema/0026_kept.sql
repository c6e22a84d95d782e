-- What is computed of whole models is said by the program: nothing of a file is run.
drop table store.kept_views;
