-- API tokens are registered first and handed out after it, and sessions that one opened end with it.
alter table api_tokens alter token_hash drop not null;       -- null: not handed out yet
alter table sessions add column api_token_id uuid references api_tokens (id);
create index sessions_by_api_token on sessions (api_token_id) where api_token_id is not null;
