// A commit is shown with its title (commitText, titledIn): one file shortens hashes, and each file that shows one alone is here with its reason.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, filesUnder } from './source-files.ts'

/** The page is a program of its own. */
const OWNERS = new Set(['src/api/protocol/commit-title.ts', 'src/console/page/parts/wait.ts'])

const TYPED = 'a command or address to paste'
const UNREAD = 'nothing of a commit that is not verified is shown'
const INSIDE = 'below the port of git: callers name the commit'
const BESIDE = 'the title is in the same sentence, row or object'

const ALONE: Readonly<Record<string, string>> = {
  'src/console/repository/prepare.ts': INSIDE,
  'src/console/repository/repository.ts': 'it is not known any more',
  'src/cli/get/short-commits.ts': 'a column of hashes, to sort and to select by',
  'src/explain/past/timeline.ts': 'the log of who did what, which is searched by hash',
  'src/forecast/plan/markdown-text.ts': BESIDE,
  'src/forecast/plan/markdown.ts': TYPED,
  'src/forecast/plan/range.ts': TYPED,
  'src/explain/previews.ts': BESIDE,
  'src/explain/refused-commit.ts': TYPED,
  'src/explain/release/commit-trace.ts': BESIDE,
  'src/explain/release/hub-history.ts': 'the commit that superseded has a row of its own in the same table',
  'src/cli/commands/rollout/requests.ts': TYPED,
  'src/console/page/parts/cause-card.ts': BESIDE,
  'src/console/page/views/commits.ts': BESIDE,
  'src/console/page/views/home-changes.ts': BESIDE,
  'src/console/page/views/node.ts': BESIDE,
  'src/console/page/views/pipeline-commits.ts': BESIDE,
  'src/console/page/views/pipeline-flow.ts': BESIDE,
  'src/console/page/views/pipeline.ts': BESIDE,
  'src/console/page/views/plan.ts': BESIDE,
  'src/console/page/parts/prepared-commit.ts': BESIDE,
  'src/explain/approval-requests.ts': UNREAD,
  'src/explain/progress/unmet.ts': 'until the repository has been read',
  'src/runtime/waiting.ts': TYPED,
  'src/sync/git/local-repository.ts': INSIDE,
  'src/sync/git/notes.ts': INSIDE,
  'src/sync/git/push.ts': INSIDE,
  'src/sync/hub/pipeline-before.ts': INSIDE,
  'src/sync/hub/revert.ts': INSIDE,
  'src/sync/hub/source/planned.ts': TYPED,
  'src/sync/hub/source/signers-file.ts': UNREAD,
  'src/sync/hub/source/status.ts': TYPED,
  'src/sync/hub/source/verified.ts': UNREAD,
  'src/explain/release/news.ts': BESIDE,
  'src/sync/release/chain.ts': 'the name of an object',
  'src/sync/revert/decide.ts': TYPED,
  'src/sync/trust/exact-revert.ts': UNREAD,
  'src/sync/trust/judge.ts': UNREAD,
  'src/sync/trust/verify-range.ts': UNREAD,
}

const sources = filesUnder('src').filter((f) => /(?<!\.test)\.ts$/.test(f))
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** `commit.slice(0, 12)`, `spec.commit?.slice(0, SHORT)`: a hash that is cut for people, under the names that commits have here. */
const CUT =
  /(?<!parseInt\()\b(?:\w*[cC]ommit|base|head|followed|reverts|restores|rewritten|tip|to|from|id)\??\.slice\(0, ?(?:[789]|\d\d|[A-Z_]+)\)/g

test('only one file cuts hashes of commits for people', () => {
  const found = sources
    .filter((path) => !OWNERS.has(path))
    .flatMap((path) => (read(path).match(CUT) ?? []).map((text) => `${path}: ${text}`))
  expect(found).toEqual([])
})

test('each file that shows a hash without a title has its reason here, and no other does', () => {
  const alone = sources.filter((path) => !OWNERS.has(path) && /\bshortCommit\b/.test(read(path)))
  expect(alone.toSorted()).toEqual(Object.keys(ALONE).toSorted())
})
