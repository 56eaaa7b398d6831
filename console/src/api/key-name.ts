import { useQuery } from '@tanstack/react-query';
import { read } from './admin.ts';

/** The name of a key, or its id where it has none or is not read yet. */
export function useKeyName(keyId: string): string {
  const { data } = useQuery({
    queryKey: ['key-name', 'newest', keyId],
    queryFn: () => read('/keys/{id}', { id: keyId }),
    staleTime: 60_000,
  });
  return data?.name || keyId;
}
