import { Alert, Text } from '@mantine/core';
import type { Difference } from '../../../src/domain/operators/differences.ts';
import { Differences } from './differences.tsx';
import { IntoView } from './into-view.tsx';
import { actorName } from './links.tsx';

interface ChangedMeanwhileProps {
  actors: readonly string[];
  changes: readonly Difference[];
  /** What to do next, beside reading this. */
  next?: string;
}

/** What other operators changed between the opening and the saving of a form. */
export function ChangedMeanwhile({ actors, changes, next = '' }: ChangedMeanwhileProps) {
  return (
    <IntoView>
      <Alert color="orange" title="Changed meanwhile" role="alert">
        <Text size="sm" mb="xs" className="breakable">
          {[...new Set(actors.map(actorName))].join(' and ')} changed this after you opened it, so that nothing of yours
          is saved yet. Their changes are kept, and yours are made on top of them: where both changed the same setting,
          yours stands. {next}
        </Text>
        <Differences of={changes} label="What was changed meanwhile" />
      </Alert>
    </IntoView>
  );
}
