// Runs an installation step until it is done or the user interrupts it.
import { Exit } from '#lib/terminal/exit.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import type { InstallContext } from './context.ts'

/** An interrupted run releases its turn, so that the next one need not wait. */
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
