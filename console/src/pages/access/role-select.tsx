import { Select } from '@mantine/core';
import type { Role } from '../../api/session.ts';

const roles: { value: Role; label: string }[] = [
  { value: 'viewer', label: 'Viewer: reads' },
  { value: 'operator', label: 'Operator: also changes, and reads prompts' },
  { value: 'owner', label: 'Owner: also keys, credentials and access' },
];

/** The role of a person or of a token. */
export function RoleSelect({ value, onChange }: { value: Role; onChange: (role: Role) => void }) {
  return (
    <Select
      label="Role"
      data={roles}
      value={value}
      onChange={(next) => next !== null && onChange(next)}
      allowDeselect={false}
    />
  );
}
