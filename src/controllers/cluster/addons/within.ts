// An API server, or a webhook of its administrator, that hangs must not hold the worker that other Clusters need. The next pass continues.

export interface Bound {
  readonly signal: AbortSignal
  readonly ms: number
}

/** Errors, and the end of the process, stay errors. */
export async function endedWithin<R>(
  { signal, ms }: Bound,
  work: (signal: AbortSignal) => Promise<R>,
  late: (message: string) => R,
): Promise<R> {
  const within = AbortSignal.timeout(ms)
  try {
    return await work(AbortSignal.any([signal, within]))
  } catch (error) {
    if (signal.aborted || !within.aborted) throw error
    return late(`it did not take all objects within ${ms / 1_000} s`)
  }
}
