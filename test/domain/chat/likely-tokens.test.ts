import { describe, expect, it } from '@jest/globals';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { likelyTokens } from '../../../src/domain/chat/likely-tokens.ts';

const samples: Record<string, string> = {
  'English prose': `The bridge was built in the spring of 1894, when the river still carried timber down to the mills. Every
morning the keeper lifted the barrier for the farmers, wrote their names into a heavy book, and counted the coins twice before he put
them into the drawer. Nobody remembers why the toll was never raised, although the council discussed it each winter. "People pay what
is fair," he used to say, "and they come back." When the railway arrived, most of the carts disappeared within a year, yet the book goes
on for three more decades, in a careful and slightly old-fashioned hand.`,
  'an answer with lists': `Here is how I would approach it:

1. **Measure first.** Run the query with \`EXPLAIN (ANALYZE, BUFFERS)\` and compare the estimated with the actual rows.
2. **Add an index** on \`(project_id, created_at)\`, because the filter is selective and the order matches.
3. **Check again.** If the planner still prefers a sequential scan, the statistics are probably stale.

Let me know which version of PostgreSQL you use, and I can be more specific!`,
  TypeScript: `export async function settle(deps: Deps, { requestId, credits }: Settlement): Promise<void> {
  const [row] = await deps.db.query<{ balance: number }>(
    'update account set balance = balance - $1 where id = $2 returning balance',
    [credits, requestId],
  );
  if (!row) throw new Error(\`the account of \${requestId} is unknown\`);
  for (const listener of deps.listeners.values()) {
    listener.onChange({ requestId, balance: row.balance, at: new Date().toISOString() });
  }
}
`,
  Python: `class Cache:
    """A cache that forgets the entry that was used least recently."""

    def __init__(self, capacity: int = 128) -> None:
        self.capacity = capacity
        self.entries: OrderedDict[str, bytes] = OrderedDict()

    def get(self, key: str) -> bytes | None:
        if key not in self.entries:
            return None
        self.entries.move_to_end(key)
        return self.entries[key]

    def put(self, key: str, value: bytes) -> None:
        self.entries[key] = value
        if len(self.entries) > self.capacity:
            self.entries.popitem(last=False)
`,
  JSON: JSON.stringify(
    ['Alice Johnson', 'Bob Tanaka', 'Chandra Rao', 'Dmitri Petrov'].map((name, index) => ({
      id: 1_042 + index * 7_919,
      name,
      email: `${name.toLowerCase().replace(' ', '.')}@example.com`,
      active: index % 2 === 0,
      score: 87.5 - index,
      tags: ['customer', 'newsletter'].slice(index % 2),
      created_at: `2026-11-2${index}T09:15:00Z`,
    })),
  ),
  Chinese: `这座桥建于一八九四年的春天,那时河上还有木材漂向下游的工厂。每天早晨,守桥人为农民抬起栏杆,把他们的名字写进一本厚厚的账簿,
并且把硬币数上两遍才放进抽屉。没有人记得为什么过桥费从来没有上涨,虽然议会每年冬天都会讨论这件事。他常说:“人们愿意付公平的价钱,
而且他们会再来。”铁路修通以后,大部分马车在一年之内就消失了,但是账簿又继续写了三十年,字迹依然工整。如果你想了解更多,可以去镇上的博物馆看看原件。`,
  Japanese: `この橋は一八九四年の春に建てられました。当時、川ではまだ木材が工場まで流されていました。毎朝、番人は農家の人々のために柵を上げ、
重い帳簿に名前を書き、引き出しに入れる前に硬貨を二度数えました。議会は毎年冬に話し合いましたが、なぜ通行料が一度も上がらなかったのかは
誰も覚えていません。鉄道が開通すると、ほとんどの荷車は一年以内に姿を消しました。`,
  German: `Die Brücke wurde im Frühjahr 1894 gebaut, als auf dem Fluss noch Holz zu den Mühlen hinunterfuhr. Jeden Morgen hob der Wärter
die Schranke für die Bauern, schrieb ihre Namen in ein schweres Buch und zählte die Münzen zweimal, bevor er sie in die Schublade legte.
Niemand weiß mehr, warum der Zoll nie erhöht wurde, obwohl der Rat jeden Winter darüber sprach. Als die Eisenbahn kam, verschwanden die
meisten Wagen innerhalb eines Jahres.`,
  Russian: `Мост был построен весной 1894 года, когда по реке ещё сплавляли лес к мельницам. Каждое утро сторож поднимал шлагбаум для
крестьян, записывал их имена в тяжёлую книгу и дважды пересчитывал монеты, прежде чем положить их в ящик. Никто не помнит, почему плата так
и не была повышена, хотя совет обсуждал это каждую зиму. Когда появилась железная дорога, большинство повозок исчезло в течение года.`,
};

describe('the likely tokens of a text', () => {
  it.each(Object.entries(samples))("are within 15 %% of what OpenAI's tokenizer counts in %s", (_what, text) => {
    const counted = countTokens(text);
    expect(likelyTokens(text) / counted).toBeGreaterThan(0.85);
    expect(likelyTokens(text) / counted).toBeLessThan(1.15);
  });

  it('are none for no text, and add up over texts that are apart', () => {
    expect(likelyTokens('')).toBe(0);
    expect(likelyTokens('open gate')).toBeCloseTo(likelyTokens('open') + likelyTokens('gate'));
  });
});
