// `kubenode trace`: which commit an object comes from, or what a commit became.
import { shownJson, shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { releasesBeside } from '../../fleet/called-beside.ts'
import { connectionTo } from '../../fleet/connect.ts'
import type { AtOptions, HistoryOptions } from '../../fleet/history-options.ts'
import { listOf } from '../../get/whole.ts'
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
  readonly output?: 'text' | 'json'
}

/** The commit that an object came from at that time. Field managers are not recorded. */
async function traceAt(words: readonly string[], options: TraceOptions & AtOptions, io: Io): Promise<void> {
  const [{ answerAt, inThePast }, { traceLines, traceOf }, { releasesOn }] = await Promise.all([
    import('../../fleet/past.ts'),
    import('#explain/trace.ts'),
    import('#explain/release/find-release.ts'),
  ])
  await inThePast(words, options, io, async (found) => {
    if (options.output === 'json') {
      const answers = found.map(async (one) => answerAt(one, traceOf(one.object, await releasesOn(one.client))))
      io.out(shownJson(await Promise.all(answers)))
      return
    }
    for (const { client, object, cluster } of found) {
      if (found.length > 1) io.out(shownLine(`in cluster ${cluster}:`))
      io.out(shownInWindow(io, traceLines(object, await releasesOn(client))))
    }
  })
}

export async function trace(words: readonly string[], options: TraceOptions, io: Io): Promise<void> {
  if (options.at !== undefined) return traceAt(words, { ...options, at: options.at }, io)
  const [{ traceLines, traceOf }, { commitLines, isCommit, releasesOf }] = await Promise.all([
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
    if (options.output === 'json') {
      io.out(shownJson({ commit, releases: listOf(releasesOf(commit, releases)).items }))
      return
    }
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
  if (options.output === 'json') io.out(shownJson(found.map(({ object }) => traceOf(object, releases))))
  else io.out(found.map(({ object }) => shownInWindow(io, traceLines(object, releases))).join('\n'))
  await reportMissed(missed, io)
}
