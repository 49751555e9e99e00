// Everything that KubeNode shows is plain English, and the sentences of its main paths are in `test/words/`, a story each, to be read in one sitting.
// `npm run words` writes the files again.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commentsIn } from '#test/support/tools/comments.ts'
import { AVOIDED, AVOIDED_IN_STATUS, avoidedIn } from '#test/support/tools/plain-english.ts'
import { spokenIn } from '#test/support/tools/spoken.ts'
import { ROOT, filesUnder } from './source-files.ts'

const IN_STATUS = [...AVOIDED, ...AVOIDED_IN_STATUS]

const sources = filesUnder('src').filter((f) => !f.endsWith('.test.ts'))

const rooms = [...Map.groupBy(sources, (path) => path.split('/')[1] ?? '')].toSorted(([a], [b]) => (a < b ? -1 : 1))
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Asked twice: reading the code of a room takes seconds. */
const known = new Map<string, ReturnType<typeof spokenIn>>()
const spokenBy = (path: string): ReturnType<typeof spokenIn> => {
  const found = known.get(path) ?? spokenIn(read(path))
  known.set(path, found)
  return found
}

test.each(rooms)('what %s shows has none of the words and forms that plain English avoids', (_, files) => {
  const found = files.flatMap((path) =>
    spokenBy(path).flatMap(({ line, text }) =>
      avoidedIn(text, IN_STATUS).map(
        ({ word, instead }) => `${path}:${line}: "${word}" in "${text.slice(0, 120)}"; ${instead}`,
      ),
    ),
  )
  expect(found).toEqual([])
})

/** The files that a story passes through: a folder with its slash, or one file. */
const STORIES: Readonly<Record<string, readonly string[]>> = {
  'a-commit-is-followed': ['src/sync/hub/', 'src/delivery/'],
  'a-version-bump': [
    'src/controllers/componentset/',
    'src/agent/components/fetch.ts',
    'src/agent/components/staging.ts',
    'src/agent/components/worker.ts',
    'src/explain/rollout/status.ts',
    'src/explain/ladder-lines.ts',
    'src/explain/phase-words.ts',
  ],
  'a-failed-probe': [
    'src/agent/components/cause.ts',
    'src/agent/components/plan-open-switch.ts',
    'src/agent/components/plan.ts',
    'src/agent/components/probe-verdict.ts',
    'src/agent/components/probe.ts',
    'src/agent/components/start-tries.ts',
    'src/agent/components/switch.ts',
    'src/agent/supervise/process-end.ts',
    'src/nodes/placement/',
  ],
  'a-refused-permit': [
    'src/defender/gates/',
    'src/defender/approvals.ts',
    'src/defender/target-decision.ts',
    'src/defender/unit.ts',
    'src/permits/',
  ],
  'a-repair': [
    'src/controllers/remedy/',
    'src/controllers/remedyjob/',
    'src/explain/repair-story.ts',
    'src/explain/repairs/',
  ],
  'a-host-joins': [
    'src/agent/join/',
    'src/controllers/machine/node/',
    'src/controllers/machine/provisioning/',
    'src/controllers/machine/reporting/',
  ],
  'an-installation': [
    'src/install/bootstrap/',
    'src/install/checks/',
    'src/install/install-cluster.ts',
    'src/install/next-steps.ts',
    'src/install/pod-trouble.ts',
    'src/install/ready.ts',
    'src/install/turn.ts',
  ],
  why: [
    'src/explain/attention/',
    'src/explain/cluster-story.ts',
    'src/explain/condition-findings.ts',
    'src/explain/part-findings.ts',
    'src/explain/place-story.ts',
    'src/explain/ways-out.ts',
    'src/explain/why.ts',
  ],
  'status-and-plan': [
    'src/explain/progress/',
    'src/explain/release/',
    'src/forecast/one-way.ts',
    'src/forecast/plan/findings.ts',
    'src/forecast/plan/spans.ts',
    'src/forecast/plan/text.ts',
    'src/forecast/release-waits.ts',
  ],
}
/** More than a person reads in one sitting is read by none. */
const MAX_LINES = 1_500
/** Shorter ones are parts of a sentence, or a cell of a table. */
const MIN_WORDS = 4

const story = (parts: readonly string[]): string => {
  const files = sources.filter((path) =>
    parts.some((part) => path === part || (part.endsWith('/') && path.startsWith(part))),
  )
  const told = files.toSorted().flatMap((path) => {
    const texts = new Set(spokenBy(path).map((s) => s.text.replaceAll('\n', '\\n')))
    const whole = [...texts].filter((text) => text.trim().split(/\s+/).length >= MIN_WORDS)
    return whole.length === 0 ? [] : [`${path}\n${whole.map((s) => `  ${s}\n`).join('')}`]
  })
  return told.join('\n')
}

test.each(Object.entries(STORIES))(
  'test/words/%s.txt has the sentences of its story; run npm run words when it has not',
  async (name, parts) => {
    for (const part of parts)
      expect(
        sources.some((path) => path.startsWith(part)),
        part,
      ).toBe(true)
    await expect(story(parts)).toMatchFileSnapshot(join(ROOT, `test/words/${name}.txt`))
  },
)

test(`the stories have at most ${MAX_LINES} lines in all, and no file is left over`, () => {
  expect(readdirSync(join(ROOT, 'test/words')).toSorted()).toEqual(
    Object.keys(STORIES)
      .map((name) => `${name}.txt`)
      .toSorted(),
  )
  const lines = Object.values(STORIES).reduce((all, parts) => all + story(parts).split('\n').length - 1, 0)
  expect(lines).toBeLessThanOrEqual(MAX_LINES)
})

function markdownUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? markdownUnder(`${folder}/${e.name}`) : e.name.endsWith('.md') ? [`${folder}/${e.name}`] : [],
  )
}

const documents = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...['docs', 'src', 'build'].flatMap(markdownUnder),
  'deploy/alerts',
]
const asFiles = (path: string): string[] =>
  path.endsWith('.md') ? [path] : readdirSync(join(ROOT, path)).map((name) => `${path}/${name}`)

/** Code blocks and links are names, not our words. */
const withoutCode = (text: string): string =>
  text
    .replace(/^( {4}|\t).*$/gm, '')
    .replace(/```[\s\S]*?```/g, (block) => block.replace(/[^\n]/g, ''))
    .replace(/\]\([^)]*\)/g, ']')

test.each(documents.flatMap(asFiles).map((path) => [path] as const))('%s is in plain English', (path) => {
  const found = withoutCode(read(path))
    .split('\n')
    .flatMap((text, i) =>
      avoidedIn(text).map(
        ({ word, instead }) => `${path}:${i + 1}: "${word}" in "${text.trim().slice(0, 120)}"; ${instead}`,
      ),
    )
  expect(found).toEqual([])
})

const foldersIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? [`${folder}/${e.name}`] : [],
  )

/** One case per room, so that a failure names it and no case parses all of the code. */
const WITH_COMMENTS = ['bench', 'build', 'deploy', 'fleet', 'rules', ...foldersIn('src'), ...foldersIn('test')]

test.each(WITH_COMMENTS)('the comments in %s are in plain English', (folder) => {
  const found = filesUnder(folder).flatMap((path) =>
    commentsIn(path, read(path)).flatMap(({ line, text }) =>
      avoidedIn(text).map(({ word, instead }) => `${path}:${line}: "${word}" in "${text.slice(0, 160)}"; ${instead}`),
    ),
  )
  expect(found).toEqual([])
})
