import { VisuallyHidden } from '@mantine/core';

interface ChartTableProps {
  caption: string;
  /** The name of the first column, which names the rows. */
  first: string;
  columns: readonly string[];
  rows: readonly { name: string; values: readonly (string | number)[] }[];
}

/** The numbers of a chart, for those who do not see it. */
export function ChartTable({ caption, first, columns, rows }: ChartTableProps) {
  return (
    <VisuallyHidden>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {[first, ...columns].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, values }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {values.map((value, index) => (
                <td key={columns[index]}>{value}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </VisuallyHidden>
  );
}
