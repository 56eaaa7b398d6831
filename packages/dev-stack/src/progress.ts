/** Prints a step once it takes more than a second, and its duration at the end. */
export async function withProgress<T>(say: (text: string) => void, label: string, work: Promise<T>): Promise<T> {
  const startedAt = Date.now();
  const seconds = () => (Date.now() - startedAt) / 1000;
  let isReported = false;
  const slow = setTimeout(() => {
    isReported = true;
    say(`${label} …`);
  }, 1_000);
  const slower = setInterval(() => say(`${label} … ${Math.round(seconds())} s`), 10_000);
  try {
    const result = await work;
    if (isReported) say(`${label}: done in ${seconds().toFixed(1)} s`);
    return result;
  } finally {
    clearTimeout(slow);
    clearInterval(slower);
  }
}
