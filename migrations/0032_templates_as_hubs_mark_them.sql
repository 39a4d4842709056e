-- What hubs say of their templates: a title, whether one is deprecated, and why its machines can't be made from here.
alter table templates add column title text not null default '' constraint templates_title_length check (length(title) <= 256);
alter table templates add column deprecated boolean not null default false;
alter table templates add column obstacle text not null default '';
