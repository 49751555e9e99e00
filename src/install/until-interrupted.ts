// Runs a step of an installation until it is done, or the user ends it.
import { Exit } from '#lib/terminal/exit.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import type { InstallContext } from './context.ts'

/** One that is ended gives its turn back, so that the next run need not wait for it. */
export async function untilInterrupted<T>(
  context: InstallContext,
  run: (context: InstallContext) => Promise<T>,
): Promise<T> {
  const ended = untilEnded()
  try {
    return await run({ ...context, signal: ended.signal })
  } catch (error) {
    if (!ended.signal.aborted) throw error
    context.print('ended; the same command continues from here')
    throw new Exit(ended.exitCode())
  } finally {
    ended.dispose()
  }
}
