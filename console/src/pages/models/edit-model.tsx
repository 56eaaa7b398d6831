import { Alert, Button, Collapse, JsonInput, List, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Difference } from '../../../../src/domain/operators/differences.ts';
import type { CatalogCheck, VersionedCatalogEntry } from '../../api/admin-types.ts';
import { ChangedMeanwhile } from '../../ui/changed-meanwhile.tsx';
import { Differences } from '../../ui/differences.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { percent, usd, words } from '../../ui/format.ts';
import { IntoView } from '../../ui/into-view.tsx';
import { ErrorAlert } from '../../ui/page.tsx';
import { worstShare } from './margins.ts';
import { NamesForm } from './names-form.tsx';
import { conditionsText } from './price-fields.ts';
import { PriceForm } from './price-form.tsx';
import { changesOf, entryOf, useModelEdits } from './use-model-edits.ts';

/**
 * Changes the prices, the names and every other member of a model. What the change means is shown before anything happens. It is based on the
 * version that was read: what another operator changed meanwhile is shown and kept.
 */
export function EditModel({ entry, onClose }: { entry: VersionedCatalogEntry; onClose: () => void }) {
  const { base, draft, text, meanwhile, check, apply, edit, editText } = useModelEdits(entry, onClose);
  const [advanced, { toggle }] = useDisclosure(false);
  return (
    <Dialog opened onClose={onClose} title={`Edit ${entry.display_name}`} size="xl">
      <Stack>
        {meanwhile && (
          <ChangedMeanwhile
            actors={[meanwhile.actor]}
            changes={meanwhile.changes}
            next="Check again before you apply."
          />
        )}
        <Section title="Prices">
          <PriceForm entry={draft} onChange={edit} />
        </Section>
        <Section title="Names">
          <NamesForm entry={draft} onChange={edit} />
        </Section>
        <div>
          <Button variant="subtle" size="compact-sm" onClick={toggle} aria-expanded={advanced}>
            Advanced
          </Button>
          <Collapse expanded={advanced}>
            <JsonInput
              label="Catalog entry"
              description="The entry as it is in the catalog. CATALOG.md describes each member. A later catalog apply from a file replaces what you change here"
              value={text ?? JSON.stringify(draft, null, 2)}
              onChange={editText}
              autosize
              minRows={10}
              maxRows={22}
              validationError="This is not JSON"
              spellCheck={false}
              mt="xs"
            />
          </Collapse>
        </div>
        {(check.error ?? apply.error) && (
          <IntoView>
            <ErrorAlert error={check.error ?? apply.error} />
          </IntoView>
        )}
        {check.data && (
          <IntoView>
            <Stack gap="sm">
              <Changes of={changesOf(entryOf(base), draft)} />
              <CheckResult of={check.data} />
            </Stack>
          </IntoView>
        )}
        <DialogActions>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          {check.data ? (
            <Button onClick={() => apply.mutate()} loading={apply.isPending}>
              Apply
            </Button>
          ) : (
            <Button onClick={() => check.mutate()} loading={check.isPending}>
              Check
            </Button>
          )}
        </DialogActions>
      </Stack>
    </Dialog>
  );
}

function Section({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section aria-label={title}>
      <Title order={3} size="h5" mb="xs">
        {title}
      </Title>
      {children}
    </section>
  );
}

function Changes({ of }: { of: Difference[] }) {
  if (of.length === 0) return <Text size="sm">Nothing differs from the catalog.</Text>;
  return <Differences of={of} label="What you change" />;
}

function CheckResult({ of: { data, warnings } }: { of: CatalogCheck }) {
  const [model] = data;
  const losses = model?.losses ?? [];
  const worst = worstShare(model?.margins);
  const isNegative = worst !== null && worst < 0;
  const title =
    losses.length > 0 ? 'Valid, but it loses money' : isNegative ? 'Valid, at a negative margin' : 'The entry is valid';
  return (
    <Alert color={losses.length > 0 || isNegative ? 'red' : 'teal'} title={title} role="status">
      <List size="sm">
        {worst !== null && <List.Item>The smallest margin is {percent(worst)}.</List.Item>}
        {losses.map((loss) => (
          <List.Item key={JSON.stringify(loss)}>
            {[words(loss.unit), conditionsText(loss.asked)].filter(Boolean).join(', ')}: costs{' '}
            {usd(loss.cost_micro_usd)} at {loss.family ?? 'any adapter'} and is sold for {usd(loss.price_micro_usd)}.
          </List.Item>
        ))}
        {warnings.map((warning) => (
          <List.Item key={warning}>{warning}</List.Item>
        ))}
      </List>
    </Alert>
  );
}
