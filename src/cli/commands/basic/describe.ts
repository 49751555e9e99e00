// `kubenode describe`: everything about an object: what git declares, its status, why it waits, and its events.
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { printable, shownLines } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { type Found, type ShowOptions, findAll, reportMissed, storiesOfPrograms, storyOf } from './found.ts'

export async function describe(words: readonly string[], options: ShowOptions, io: Io): Promise<void> {
  const { found, missed } = await findAll('describe', words, options, io)
  for (const [index, one] of found.entries()) {
    if (index > 0) io.out('\n')
    await describeOne(one, io)
  }
  await reportMissed(missed, io)
}

async function describeOne(found: Found, io: Io): Promise<void> {
  const { client, object } = found
  const { stringify } = await import('yaml')
  const { managedFields: _managed, ...metadata } = object.metadata
  const [[own, programs], { storyLines }] = await Promise.all([
    Promise.all([storyOf(found), storiesOfPrograms([found])]),
    import('#explain/finding.ts'),
  ])
  const lines = [own, ...programs].flatMap(storyLines)
  io.out(printable(stringify({ ...object, metadata })))
  const events = await eventLines(client, object)
  io.out(
    `\nwhy:\n${shownInWindow(
      io,
      lines.map((l) => `  ${l}`),
    )}\nevents:\n${shownLines(events.length === 0 ? ['  none'] : events)}`,
  )
}

/** In the format of `kubenode events`. */
async function eventLines(client: KubeClient, object: KubeObject): Promise<readonly string[]> {
  const [{ eventRows, eventsOf }, { alignedRows }] = await Promise.all([
    import('#explain/events.ts'),
    import('#lib/terminal/rows.ts'),
  ])
  const rows = eventRows(await eventsOf(client, [object]), Date.now())
  return rows.length === 0
    ? []
    : alignedRows(rows)
        .split('\n')
        .map((line) => `  ${line}`)
}
