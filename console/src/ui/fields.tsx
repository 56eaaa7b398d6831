import { NumberInput, TextInput, type NumberInputProps, type TextInputProps } from '@mantine/core';

/** A line of text. `onChange` gets the text. */
export function TextField({
  onChange,
  ...others
}: Omit<TextInputProps, 'onChange'> & { onChange: (text: string) => void }) {
  return <TextInput {...others} onChange={(event) => onChange(event.currentTarget.value)} />;
}

/** A whole number of credits, at least 1. */
export function CreditsField(props: Pick<NumberInputProps, 'value' | 'onChange' | 'max'>) {
  return <NumberInput label="Credits" min={1} allowDecimal={false} thousandSeparator="," required {...props} />;
}
