// A long computation in short steps, so that a server can answer other users in between.

/** Each step is a few milliseconds of work. */
export type Steps<T> = Generator<undefined, T, undefined>

/** For a program that does nothing else meanwhile. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** `step` runs one step and may account for it; `pause` lets other work run. */
export async function inSteps<T>(
  steps: Steps<T>,
  pause: () => Promise<unknown>,
  step: (work: () => IteratorResult<undefined, T>) => IteratorResult<undefined, T> = (work) => work(),
): Promise<T> {
  try {
    for (;;) {
      const { done, value } = step(() => steps.next())
      if (done === true) return value
      await pause()
    }
  } finally {
    // If a step is refused, what the computation holds is released.
    steps.return(undefined as never)
  }
}
