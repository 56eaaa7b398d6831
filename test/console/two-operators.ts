import { expect } from '@jest/globals';
import { otherOperator } from './price-walks.ts';
import type { Action } from './scene.ts';
import type { Stage } from './stage.ts';

type Edit = [opener: string, field: string, text: string];

interface Meeting {
  what: string;
  action: string;
  path: (stage: Stage) => string;
  /** Below the prefix of the admin API. */
  read: (stage: Stage) => string;
  mine: Edit;
  theirs: Edit;
  /** What both leave behind. */
  both: object;
  done: RegExp;
}

const meetings: readonly Meeting[] = [
  {
    what: 'one channel',
    action: 'channels set',
    path: ({ channelId }) => `/channels/${channelId}`,
    read: ({ channelId }) => `/channels/${channelId}`,
    mine: ['Edit', 'Requests per minute', '700'],
    theirs: ['Edit', 'Tokens per minute', '80000'],
    both: { limits: { rpm: 700, tpm: 80_000, parallel: null } },
    done: /is changed/,
  },
  {
    what: 'one project by two forms',
    action: 'projects set',
    path: ({ pilot: { projectId } }) => `/projects/${projectId}`,
    read: ({ pilot: { projectId } }) => `/projects/${projectId}`,
    mine: ['Name and note', 'Note', 'Ends with the year'],
    theirs: ['Overdraft and alerts', 'Overdraft', '500'],
    both: { note: 'Ends with the year', overdraft: 500 },
    done: /The project is changed|Changed the overdraft/,
  },
];

/** Two operators with the same form: the second one is shown what the first one changed, and neither change is lost. */
export const meetingActions: readonly Action[] = meetings.map(
  ({ what, action, path, read, mine, theirs, both, done }) => ({
    actions: [action],
    promise: `keeps what two operators change of ${what} at the same time, and shows the second one the change of the first`,
    async walk(scene) {
      const { visit, admin, stage } = scene;
      const other = await otherOperator(scene);
      for (const [person, [opener, field, text]] of [
        [visit, mine],
        [other, theirs],
      ] as const) {
        await person.open(path(stage));
        await person.press(opener);
        await person.dialog.getByRole('textbox', { name: field, exact: true }).fill(text);
      }
      await other.confirm('Save');
      await other.awaitMessage(done);
      const between = await admin.read(read(stage));

      await visit.confirm('Save');
      await visit.dialog.getByText('Changed meanwhile').waitFor();
      await visit.dialog.getByText(/^Grace/).waitFor();
      expect(visit.complaints.splice(0)).toEqual([expect.stringMatching(/^409 PATCH /)]);
      await visit.picture(`${action.replace(' ', '-')}-changed-meanwhile`);
      const { balance: _balance, ...unchanged } = await admin.read(read(stage));
      expect(between).toMatchObject(unchanged);
      // The other person's change stands in the form too.
      if (mine[0] === theirs[0])
        expect(await visit.dialog.getByRole('textbox', { name: theirs[1], exact: true }).inputValue()).toMatch(/^80/);
      await visit.confirm('Save');
      await visit.awaitMessage(done);
      expect(await admin.read(read(stage))).toMatchObject(both);
      expect(other.complaints).toEqual([]);
      await other.page.context().close();
    },
  }),
);
