/** The beginning of every path of the admin API. */
export const adminPrefix = '/api/admin/v1';
