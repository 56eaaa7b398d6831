/** What the run's global setup has started; throws where it has not. */
export function testServer(name: 'TEST_DATABASE_URL' | 'TEST_TEMPORAL_ADDRESS'): string {
  const address = process.env[name];
  if (!address) throw new Error(`${name} is not set; run the tests with \`npm test\``);
  return address;
}
