-- What is seen of a VM and what was done to it changes far more often than what it is called. Where its page has room for the
-- new row, none of the table's indexes has to be told.
alter table vms set (fillfactor = 70);
