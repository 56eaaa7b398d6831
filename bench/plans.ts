import { readFileSync, statSync } from 'node:fs';
import type { Database } from '../src/db/database.ts';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: PlanNode[];
}

/** Lets every new session of a database write the plan of each statement to the server's log, those inside functions included. */
export async function explainAll(database: Database): Promise<void> {
  const [row] = await database.query<{ name: string }>('', 'select current_database() as name');
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_format': 'json',
  };
  for (const [setting, value] of Object.entries(settings))
    await database.query('', `alter database ${row?.name} set ${setting} = '${value}'`);
}

/** The shapes of the plans that the server logs during `work`, by statement: nodes, tables and indexes, without costs and counts. */
export async function plansDuring(logFile: string, work: () => Promise<unknown>): Promise<Map<string, Set<string>>> {
  const from = statSync(logFile).size;
  await work();
  const text = readFileSync(logFile).subarray(from).toString('utf8');
  const plans = new Map<string, Set<string>>();
  for (const [, logged = ''] of text.matchAll(/plan:\n((?:\t.*\n)+)/g)) {
    const { 'Query Text': statement, Plan: plan } = JSON.parse(logged.replaceAll(/^\t/gm, '')) as {
      'Query Text': string;
      Plan: PlanNode;
    };
    const shapes = plans.get(statement) ?? new Set();
    plans.set(statement, shapes.add(shapeOf(plan)));
  }
  return plans;
}

function shapeOf({
  'Node Type': type,
  'Relation Name': table,
  'Index Name': index,
  Plans: below = [],
}: PlanNode): string {
  const name = [type, table, index && `by ${index}`].filter(Boolean).join(' ');
  return below.length === 0 ? name : `${name} (${below.map(shapeOf).join(', ')})`;
}
