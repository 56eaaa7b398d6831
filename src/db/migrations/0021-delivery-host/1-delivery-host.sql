-- The callbacks of a receiver: operators see which hosts fail.
create index delivery_host_idx on delivery ((lower(split_part(split_part(url, '/', 3), '@', -1))), created_at desc, id desc);
