import { NumberInput, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { channelsQuery } from '../../api/queries.ts';
import type { CatalogEntry } from '../../api/admin-types.ts';
import { creditValue, money, percent, usd } from '../../ui/format.ts';
import { priceFields, servingFamilies, withPrice, type PriceField } from './price-fields.ts';

interface PriceFormProps {
  entry: CatalogEntry;
  onChange: (entry: CatalogEntry) => void;
}

/** A field for each price of a model, with what it is worth and its margin at the dearest channel as one types. */
export function PriceForm({ entry, onChange }: PriceFormProps) {
  const channels = useQuery(channelsQuery);
  const families = servingFamilies(entry, channels.data?.data ?? []);
  const set = (path: PriceField['path']) => (value: number | string) =>
    onChange(withPrice(entry, path, value === '' ? undefined : Number(value)));
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        {entry.type === 'chat'
          ? 'Credits for 1,000 tokens of each class. An empty field has the price that it shows.'
          : 'Credits for a request.'}{' '}
        The margin is counted with the highest cost of {families.join(', ')}.
      </Text>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} className="fields">
        {priceFields(entry, families).map((field) => (
          <CreditsInput key={field.path.join('.')} field={field} onChange={set(field.path)} />
        ))}
        {entry.type === 'chat' && (
          <NumberInput
            label="Long input begins above"
            description="Tokens. Empty: one price for every input"
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            placeholder="No other price"
            value={entry.pricing.long_input?.above_tokens ?? ''}
            onChange={(value) =>
              value === ''
                ? onChange(withPrice(entry, ['pricing', 'long_input'], undefined))
                : onChange(withPrice(entry, ['pricing', 'long_input', 'above_tokens'], Number(value)))
            }
            min={1}
            allowDecimal={false}
            thousandSeparator=","
          />
        )}
      </SimpleGrid>
    </Stack>
  );
}

function CreditsInput({ field, onChange }: { field: PriceField; onChange: (value: number | string) => void }) {
  const { label, credits, inherited, least } = field;
  return (
    <NumberInput
      label={label}
      value={credits ?? ''}
      onChange={onChange}
      placeholder={inherited === null ? undefined : String(inherited)}
      min={least}
      allowDecimal={false}
      thousandSeparator=","
      description={<PriceWorth field={field} />}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
    />
  );
}

/** What a price is worth, and what of it remains after the cost at the dearest channel. */
function PriceWorth({ field: { credits, inherited, cost, family } }: { field: PriceField }) {
  const counted = credits ?? inherited;
  if (counted === null || !Number.isSafeInteger(counted)) return 'Needs a price';
  const price = counted * creditValue();
  const isLoss = cost !== null && price < cost;
  return (
    <>
      {money(counted)}
      {cost !== null && family !== null && (
        <>
          {' · '}
          <Text span inherit {...(isLoss && { c: 'red', fw: 600 })}>
            {price === 0 ? 'free' : `margin ${percent((price - cost) / price)}`}
          </Text>
          {`, costs ${usd(cost)} at ${family}`}
        </>
      )}
    </>
  );
}
