/**
 * The id of the event that a task has ended, which is the `webhook-id` of its callback. A task ends once, so its own id suffices: a callback
 * that is sent again after a restore of the database has the id under which its receiver may know it.
 */
export const endEventId = (taskId: string): string => taskId.replace(/^task_/, 'evt_');
