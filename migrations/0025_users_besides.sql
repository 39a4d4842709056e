-- What VCD's clients say of users and find again, where there is nothing like it here: model::user::UserBesides.
alter table users add column besides jsonb not null default '{}';
