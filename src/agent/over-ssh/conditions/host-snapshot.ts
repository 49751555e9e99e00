// Small files and listings of a host, read together in one snippet. Detectors are written for a host that they can ask at any time, so what they ask is found
// by letting them ask: of what was read so far, until they ask nothing new. What they asked last is read first in the next round.
import type { HostFiles } from '../../metrics/host-files.ts'
import { visible } from '#lib/printable.ts'
import { type Channel, quoted } from '#ssh/channel.ts'

/** Each answers with the beginning of a list that leads to the next: parts, their folders, their values. */
const MOST_STEPS = 8
/** A host with 512 processors has a thousand counters of heat. */
const MOST_PATHS = 8_000
const MAX_BYTES = 2 ** 20
const WITHIN_MS = 30_000
const END = 'all'
/** A snippet is one argument of a program. */
const MAX_WORDS_BYTES = 96 * 1024

/** The paths that something asked. */
export interface Asked {
  readonly files: ReadonlySet<string>
  readonly folders: ReadonlySet<string>
}

export const NOTHING_ASKED: Asked = { files: new Set(), folders: new Set() }

interface Snapshot extends HostFiles {
  readonly asked: Asked
}

/** `ask`: asks all that it needs; it is called repeatedly, with less than everything at first. Undefined: the host answers without end. */
export async function snapshotOf(
  channel: Pick<Channel, 'ask'>,
  before: Asked,
  ask: (host: HostFiles) => Promise<unknown>,
): Promise<Snapshot | undefined> {
  const files = new Map<string, string | undefined>()
  const folders = new Map<string, readonly string[]>()
  let wanted = before
  for (let n = 0; n < MOST_STEPS; n++) {
    const news = { files: without(wanted.files, files), folders: without(wanted.folders, folders) }
    if (wanted.files.size + wanted.folders.size > MOST_PATHS) return undefined
    const [texts, names] = [await readFiles(channel, news.files), await listFolders(channel, news.folders)]
    if (texts === undefined || names === undefined) return undefined
    for (const path of news.files) files.set(path, texts.get(path))
    for (const path of news.folders) folders.set(path, names.get(path) ?? [])
    const asked = { files: new Set<string>(), folders: new Set<string>() }
    const host: HostFiles = {
      read: (path) => (asked.files.add(path), files.get(path)),
      list: (path) => (asked.folders.add(path), folders.get(path) ?? []),
    }
    await ask(host)
    if (without(asked.files, files).length + without(asked.folders, folders).length === 0) return { ...host, asked }
    wanted = asked
  }
  return undefined
}

const without = (wanted: ReadonlySet<string>, known: ReadonlyMap<string, unknown>): readonly string[] =>
  [...wanted].filter((path) => !known.has(path))

/** One program for all files: `path NUL line`, for each line of each file that is there and not empty. */
async function readFiles(
  channel: Pick<Channel, 'ask'>,
  paths: readonly string[],
): Promise<ReadonlyMap<string, string> | undefined> {
  const found = new Map<string, string>()
  const wanted = new Set(paths)
  for (const words of wordsOf(paths)) {
    const lines = await linesOf(channel, `grep -asHZ '' -- ${words}`)
    if (lines === undefined) return undefined
    for (const [path, line] of lines) if (wanted.has(path)) found.set(path, `${found.get(path) ?? ''}${line}\n`)
  }
  return found
}

async function listFolders(
  channel: Pick<Channel, 'ask'>,
  paths: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  const found = new Map<string, string[]>(paths.map((path) => [path, []]))
  for (const words of wordsOf(paths)) {
    const lines = await linesOf(channel, `find -H ${words} -mindepth 1 -maxdepth 1 -printf '%H\\0%f\\n' 2>/dev/null`)
    if (lines === undefined) return undefined
    // A name becomes a part of the next path.
    for (const [path, name] of lines) if (isName(name)) found.get(path)?.push(name)
  }
  return new Map([...found].map(([path, names]) => [path, names.toSorted()]))
}

const isName = (name: string): boolean => /^[\w.:@,+=#-]{1,255}$/.test(name) && name !== '.' && name !== '..'

async function linesOf(
  channel: Pick<Channel, 'ask'>,
  program: string,
): Promise<readonly (readonly [string, string])[] | undefined> {
  // Files that are not there are no failure. Without the last line, the program was not found, or ended early.
  const { stdout } = await channel.ask({
    snippet: `{ timeout ${WITHIN_MS / 1_000} ${program}; [ "$?" -ge 124 ] || echo ${END}; } | head -c ${MAX_BYTES}`,
    deadlineMs: 2 * WITHIN_MS,
    maxBytes: MAX_BYTES,
  })
  const text = stdout.toString('utf8')
  if (!text.endsWith(`${END}\n`)) return undefined
  return text.split('\n').flatMap((line): (readonly [string, string])[] => {
    const at = line.indexOf('\0')
    return at === -1 ? [] : [[line.slice(0, at), visible(line.slice(at + 1))]]
  })
}

function wordsOf(paths: readonly string[]): readonly string[] {
  const all: string[] = []
  let words = ''
  for (const path of paths) {
    const word = ` ${quoted(path)}`
    if (words.length + word.length > MAX_WORDS_BYTES) {
      all.push(words)
      words = ''
    }
    words += word
  }
  return words === '' ? all : [...all, words]
}
