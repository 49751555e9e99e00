// `kubenode trace`: which commit an object comes from, or what a commit became.
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { releasesBeside } from '../../fleet/called-beside.ts'
import { connectionTo } from '../../fleet/connect.ts'
import type { AtOptions, HistoryOptions } from '../../fleet/history-options.ts'
import { type ShowOptions, findAll, reportMissed } from './found.ts'

/** Git revisions that cannot be object names: resolve the commit in the repository around the current folder. */
const REVISION = /^(HEAD|@)$|[~^]/

async function commitHere(word: string, io: Io): Promise<string | undefined> {
  if (!REVISION.test(word)) return undefined
  const [{ openLocalRepository }, { commitCalled }] = await Promise.all([
    import('#sync/git/local-repository.ts'),
    import('#forecast/plan/range.ts'),
  ])
  return commitCalled(openLocalRepository(io.cwd, { above: true }), word)
}

export interface TraceOptions extends ShowOptions, HistoryOptions {
  readonly at?: string
}

/** The commit that an object came from at that time. Field managers are not recorded. */
async function traceAt(words: readonly string[], options: TraceOptions & AtOptions, io: Io): Promise<void> {
  const [{ inThePast }, { traceLines }, { releasesOn }] = await Promise.all([
    import('../../fleet/past.ts'),
    import('#explain/trace.ts'),
    import('#explain/release/find-release.ts'),
  ])
  await inThePast(words, options, io, async (found) => {
    for (const { client, object, cluster } of found) {
      if (found.length > 1) io.out(shownLine(`in cluster ${cluster}:`))
      io.out(shownInWindow(io, traceLines(object, await releasesOn(client))))
    }
  })
}

export async function trace(words: readonly string[], options: TraceOptions, io: Io): Promise<void> {
  if (options.at !== undefined) return traceAt(words, { ...options, at: options.at }, io)
  const [{ traceLines }, { commitLines, isCommit }] = await Promise.all([
    import('#explain/trace.ts'),
    import('#explain/release/commit-trace.ts'),
  ])
  const [word = '', ...others] = words
  const commit = others.length > 0 ? undefined : isCommit(word) ? word : await commitHere(word, io)
  if (commit !== undefined) {
    const [{ approvalsOn, releasesOn }, { client }] = await Promise.all([
      import('#explain/release/find-release.ts'),
      connectionTo(options, io),
    ])
    const [releases, approvals] = await Promise.all([releasesOn(client), approvalsOn(client)])
    if (releases.length === 0) {
      const { withHubHint } = await import('#explain/objects/hub-hint.ts')
      io.out(`${await withHubHint(client, `commit ${commit} has no release`)}\n`)
      return
    }
    io.out(shownInWindow(io, commitLines({ commit, releases, approvals })))
    return
  }
  const { found, missed } = await findAll('trace', words, options, io)
  const [first] = found
  const releases = first === undefined ? [] : await releasesBeside(first.client, options, io)
  io.out(found.map(({ object }) => shownInWindow(io, traceLines(object, releases))).join('\n'))
  await reportMissed(missed, io)
}
