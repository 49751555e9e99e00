// Each room opens with a page: what it owns, what it never does, how others enter it, what it keeps true, and where to begin. What the page names exists.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { basename, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ARCHITECTURE_PAGE, roomsIn, sourceLines, withRoomLines } from '#build/reference/source-rooms.ts'
import { commentsIn } from '#test/support/tools/comments.ts'
import { ROOT, filesUnder, isTest, sourceFiles } from './source-files.ts'

const PARTS = ['Owns', 'Never', 'Port', 'Invariants', 'Read first']
/** A page is read in two minutes; below this something is left out. */
const FEWEST_LINES = 25
const MOST_LINES = 60
const FEWEST: Readonly<Record<string, number>> = { Owns: 3, Never: 2, Port: 2, Invariants: 3, 'Read first': 1 }

const foldersIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((e) => e.isDirectory())
    .map((e) => `${folder}/${e.name}`)

const ROOMS = [...foldersIn('src'), 'build']

/** The code that may enter a room, with what starts it without an import. */
const sources = sourceFiles('src', 'build', 'test', 'bench', 'deploy', 'fleet', 'rules')
const STARTERS = ['package.json', 'bin/kubenode'].map((path) => readFileSync(join(ROOT, path), 'utf8')).join('\n')

const isEntered = (path: string, room: string): boolean =>
  STARTERS.includes(path) ||
  sources.some((f) => !f.path.startsWith(`${room}/`) && f.imports.some(({ file }) => file === path))

const LINK = /\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)/g
const linksIn = (text: string, room: string): readonly string[] =>
  [...text.matchAll(LINK)].map((m) => normalize(join(room, m[1] ?? '')))

/** The bullets of a part, each with the lines that continue it; a part in prose is one. */
const bulletsOf = (text: string): readonly string[] =>
  text
    .split(/\n(?=- )/)
    .map((bullet) => bullet.trim())
    .filter((bullet) => bullet !== '')

interface Page {
  readonly opening: string
  readonly parts: ReadonlyMap<string, string>
}

function pageIn(text: string): Page {
  const [opening = '', ...sections] = text.split(/^## /m)
  return {
    opening,
    parts: new Map(
      sections.map((section) => [section.split('\n', 1)[0] ?? '', section.slice(section.indexOf('\n') + 1)]),
    ),
  }
}

const exportsOf = (path: string): string => (path.endsWith('.ts') ? readFileSync(join(ROOT, path), 'utf8') : '')
const isExported = (name: string, path: string): boolean =>
  new RegExp(`^export [^=('"]*\\b${name}\\b`, 'm').test(exportsOf(path))

/** Functions and types that a port names are those of the files that it names. */
function namesWithoutFile(bullet: string, room: string): readonly string[] {
  const files = linksIn(bullet, room).filter((path) => existsSync(join(ROOT, path)))
  const names = [...bullet.matchAll(/`([A-Za-z]\w*)`/g)].map((m) => m[1] ?? '')
  return names.filter((name) => !existsSync(join(ROOT, 'src', name)) && !files.some((path) => isExported(name, path)))
}

/** Paths that are written without a link: a folder, or a file by its name. */
function absentNames(text: string, room: string): readonly string[] {
  const names = [...text.matchAll(/`([\w./-]+(?:\/|\.ts))`/g)].map((m) => m[1] ?? '')
  return names.filter(
    (name) =>
      !existsSync(join(ROOT, room, name)) &&
      !existsSync(join(ROOT, name)) &&
      (name.includes('/') || !filesUnder(room).some((path) => basename(path) === name)),
  )
}

function problemsOf(room: string, text: string): readonly string[] {
  const { opening, parts } = pageIn(text)
  const lines = text.trimEnd().split('\n').length
  const title = room.split('/').at(-1) ?? ''
  const ports = bulletsOf(parts.get('Port') ?? '')
  return [
    ...(new RegExp(`^# ${title}\n\n[A-Z][^\n]{20,}\\.\n`).test(opening) ? [] : ['it does not open with a sentence']),
    ...(lines >= FEWEST_LINES && lines <= MOST_LINES ? [] : [`it has ${lines} lines`]),
    ...([...parts.keys()].join() === PARTS.join() ? [] : [`its parts are ${[...parts.keys()].join(', ')}`]),
    ...[...parts].flatMap(([part, content]) =>
      bulletsOf(content).length >= (FEWEST[part] ?? 1) ? [] : [`its part ${part} is too short`],
    ),
    ...bulletsOf(parts.get('Invariants') ?? '')
      .filter((bullet) => linksIn(bullet, room).length === 0)
      .map((bullet) => `nothing holds: ${bullet}`),
    ...linksIn(text, room)
      .filter((path) => !existsSync(join(ROOT, path)))
      .map((path) => `${path} does not exist`),
    ...absentNames(text, room).map((name) => `${name} does not exist`),
    ...ports
      .flatMap((bullet) => linksIn(bullet, room))
      .filter((path) => path.endsWith('.ts') && path.startsWith(`${room}/`) && !isEntered(path, room))
      .map((path) => `${path} is no port: nothing outside enters it`),
    ...ports.flatMap((bullet) => namesWithoutFile(bullet, room)).map((name) => `no file of its port exports ${name}`),
    ...(linksIn(parts.get('Read first') ?? '', room).length >= 2 ? [] : ['it has no order of reading']),
  ]
}

const pageOf = (room: string): string => {
  const path = join(ROOT, room, 'README.md')
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

test.each(ROOMS)('%s opens with its page, and what the page names exists', (room) => {
  expect(problemsOf(room, pageOf(room))).toEqual([])
})

describe('the check of a page finds', () => {
  const good = pageOf('src/permits')
  const changed = (from: string | RegExp, to: string): readonly string[] => {
    expect(good.replace(from, to)).not.toBe(good)
    return problemsOf('src/permits', good.replace(from, to))
  }

  test('a page that is not there', () => {
    expect(problemsOf('src/permits', '')).toContain('it does not open with a sentence')
  })

  test('a part that is left out, or that says next to nothing', () => {
    expect(changed('## Never', '## Sometimes')).toEqual([expect.stringContaining('its parts are Owns, Sometimes')])
    expect(changed(/## Never\n[\s\S]*?## Port/, '## Never\n\n- Sleeps.\n\n## Port')).toEqual([
      'its part Never is too short',
    ])
  })

  test('a page that is longer than a page', () => {
    expect(changed(/$/, 'one more line\n'.repeat(MOST_LINES))).toEqual([expect.stringMatching(/^it has \d+ lines$/)])
  })

  test('an invariant that nothing holds', () => {
    expect(changed('## Read first', '- It is always right.\n\n## Read first')).toEqual([
      'nothing holds: - It is always right.',
    ])
  })

  test('a file that does not exist, linked or by its name', () => {
    expect(changed('(windows.test.ts)', '(window.test.ts)')).toEqual(['src/permits/window.test.ts does not exist'])
    expect(changed('(`holds/`)', '(`hold/`)')).toEqual(['hold/ does not exist'])
  })

  test('a port that nothing enters, and a function that it does not have', () => {
    expect(changed('## Invariants', '- [names.ts](../cli/main.ts), [x](windows.test.ts)\n\n## Invariants')).toEqual([
      'src/permits/windows.test.ts is no port: nothing outside enters it',
    ])
    expect(changed('`permitAnswer`', '`permitAnswers`')).toEqual(['no file of its port exports permitAnswers'])
  })
})

describe('the table of rooms', () => {
  const page = readFileSync(join(ROOT, ARCHITECTURE_PAGE), 'utf8')

  test('has each room once', () => {
    expect(roomsIn(page).toSorted()).toEqual(ROOMS.toSorted())
  })

  test('has the size of each room within a fifth; run npm run gen when it has not', () => {
    expect(withRoomLines(page, (folder) => sourceLines(join(ROOT, folder)))).toBe(page)
  })

  test('keeps a size that is about right, and replaces one that is not', () => {
    const row = '| [`kube`](../src/kube/README.md) | 4,700 | one client |'
    expect(withRoomLines(row, () => 5_000)).toBe(row)
    expect(withRoomLines(row, () => 12_345)).toBe('| [`kube`](../src/kube/README.md) | 12,300 | one client |')
  })
})

/** Not those of `fleet/` and `rules/`: the reader's own fleet has other files there. */
const PATH = /\b(?:src|bench|deploy|test)\/[\w.-]+\/[\w./-]+\.(?:ts|md|json|yaml|sh)\b|\bbuild\/[\w./-]+\.ts\b/g
const lost = (text: string): readonly string[] =>
  [...text.matchAll(PATH)].map(([path]) => path).filter((path) => !existsSync(join(ROOT, path)))

const markdownUnder = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `${folder}/${file}`)

describe('paths that are named in words exist', () => {
  /** What was decided once may name what was there then. */
  const HISTORY = /^docs\/adr\//

  test('in documents', () => {
    const pages = ['README.md', 'CONTRIBUTING.md', ...['docs', 'test', 'src', 'build'].flatMap(markdownUnder)]
    const found = pages
      .filter((path) => !HISTORY.test(path))
      .flatMap((path) => lost(readFileSync(join(ROOT, path), 'utf8')).map((name) => `${path}: ${name}`))
    expect(found).toEqual([])
  })

  test('in comments', () => {
    const found = ['src', 'build', 'bench', 'deploy']
      .flatMap(filesUnder)
      .filter((path) => !isTest(path))
      .map((path) => ({ path, code: readFileSync(join(ROOT, path), 'utf8') }))
      .filter(({ code }) => lost(code).length > 0)
      .flatMap(({ path, code }) =>
        commentsIn(path, code).flatMap(({ text }) => lost(text).map((name) => `${path}: ${name}`)),
      )
    expect(found).toEqual([])
  })

  test('a path that moved away is found', () => {
    expect(lost('see src/local/up.ts, and src/programs/local/up.ts.')).toEqual(['src/local/up.ts'])
  })
})
