-- Which master secret a data key is sealed with, by the short name that follows from the secret: store/src/vault.rs.
-- Empty: sealed before there were names.
alter table data_keys add column master text not null default '';
