// Everything that KubeNode shows is plain English, and collected in `test/words/` to be read in one go. `npm run words` writes the files again.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commentsIn } from '#test/support/tools/comments.ts'
import { AVOIDED, AVOIDED_IN_STATUS, avoidedIn } from '#test/support/tools/plain-english.ts'
import { spokenIn } from '#test/support/tools/spoken.ts'
import { ROOT, filesUnder } from './source-files.ts'

/** The embedded server and its schemas answer in the words of a real kube-apiserver: held to plain English, but not ours to review. */
const IN_WORDS_OF_KUBERNETES = new Set(['apiserver'])

const IN_STATUS = [...AVOIDED, ...AVOIDED_IN_STATUS]

const sources = filesUnder('src').filter((f) => !f.endsWith('.test.ts'))

const roomOf = (path: string): string => {
  const [, room = '', part = ''] = path.split('/')
  return room === 'controllers' && !part.endsWith('.ts') ? `controllers-${part}` : room
}

const rooms = [...Map.groupBy(sources, roomOf)].toSorted(([a], [b]) => (a < b ? -1 : 1))
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

test.each(rooms.filter(([room]) => !IN_WORDS_OF_KUBERNETES.has(room)))(
  'test/words/%s.txt holds every sentence that it shows; run npm run words when it does not',
  async (room, files) => {
    const parts = files.toSorted().flatMap((path) => {
      const sentences = [...new Set(spokenBy(path).map((s) => s.text.replaceAll('\n', '\\n')))]
      return sentences.length === 0 ? [] : [`${path}\n${sentences.map((s) => `  ${s}\n`).join('')}`]
    })
    await expect(parts.join('\n')).toMatchFileSnapshot(join(ROOT, `test/words/${room}.txt`))
  },
)

test('no file in test/words is left over from a room that is no more', () => {
  const expected = rooms.filter(([room]) => !IN_WORDS_OF_KUBERNETES.has(room)).map(([room]) => `${room}.txt`)
  expect(readdirSync(join(ROOT, 'test/words')).filter((f) => !expected.includes(f))).toEqual([])
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
