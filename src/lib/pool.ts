// Processes many items with limited concurrency.

/** After a failure no further items start; running ones finish, then the first failure is thrown. */
export async function inParallel<T>(items: Iterable<T>, most: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = Array.from(items)
  const failures: unknown[] = []
  let at = 0
  const worker = async (): Promise<void> => {
    while (at < rest.length && failures.length === 0) {
      try {
        await work(rest[at++] as T)
      } catch (e) {
        failures.push(e)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, rest.length) }, worker))
  if (failures.length > 0) throw failures[0]
}
