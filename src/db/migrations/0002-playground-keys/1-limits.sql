-- Keys of the playground buy chats and media only, with a daily cap and an end. Earlier, an operator could lift both, and the key could
-- read what belongs to the whole project.
update api_key k
set scopes = '{chat,media}',
  budget_daily = coalesce(k.budget_daily, 1000),
  expires_at = least(k.expires_at, clock_timestamp() + interval '12 hours')
from playground_key p where p.key_id = k.id and k.revoked_at is null;
