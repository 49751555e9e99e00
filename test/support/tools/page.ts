// A page of the documentation as a person types it: its blocks of shell commands, each with the output that the page prints below it, and what differs.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { sleep } from './processes.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

export interface Block {
  /** Of the page, from one. */
  readonly line: number
  readonly commands: string
  /** The block of text that follows directly; undefined where the page prints none. */
  readonly shows?: string
  /** How its last command ends; 0 when left out. */
  readonly code?: number
}

/** Blocks of `sh` are typed. A block of `text` directly below one is its output; other blocks are read only. */
export function blocksOf(page: string): readonly Block[] {
  const fences = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map((m) => ({
    kind: m[1],
    text: m[2] ?? '',
    from: m.index,
    to: m.index + m[0].length,
  }))
  return fences.flatMap(({ kind, text, from, to }, i) => {
    if (kind !== 'sh') return []
    const next = fences[i + 1]
    const isOutput = next?.kind === 'text' && page.slice(to, next.from).trim() === ''
    const line = page.slice(0, from).split('\n').length
    return [{ line, commands: text, ...(isOutput && { shows: next.text }) }]
  })
}

export const blocksIn = (path: string): readonly Block[] => blocksOf(readFileSync(join(ROOT, path), 'utf8'))

/** The blocks of one chapter of a page. */
export function chapterOf(path: string, title: string): readonly Block[] {
  const chapters = readFileSync(join(ROOT, path), 'utf8').split(/^(?=## )/m)
  const chapter = chapters.find((c) => c.startsWith(`## ${title}\n`))
  if (chapter === undefined) throw new Error(`${path} has no chapter "${title}"`)
  return blocksOf(chapter)
}

/** What differs from run to run, in the order in which it is replaced. Both sides are normalized, so a page prints a real example. */
const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID'],
  [/\b20\d\d-\d\d-\d\d(T[\d:.]+Z)?/g, 'DATE'],
  [/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d\d? [A-Z][a-z][a-z]\b/g, 'DAY'],
  [/\b\d\d:\d\d(:\d\d)?\b/g, 'TIME'],
  [/\b(workers|batch)-[a-z0-9]{5}\b/g, '$1-NAME'],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b/g, 'HASH'],
  [/(?<![\w.])(\d+(\.\d+)?(ms|[smhd]))+(?!\w)/g, 'AGE'],
  [/[ \t]+/g, ' '],
]
const ANY = '…'

/** What a command prints while a slow machine keeps it waiting. */
const SLOW = 'waiting for sync'

const normalized = (text: string): readonly string[] =>
  VOLATILE.reduce((t, [from, to]) => t.replaceAll(from, to), text)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && line !== SLOW)

const isSameLine = (wanted: string, seen: string): boolean => {
  const parts = wanted.split(ANY).map((p) => p.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join('.*')}$`).test(seen)
}

/** Undefined when the output is what the page prints. `…` matches any part of a line, and alone on a line any lines. */
export function differenceOf(shows: string, output: string): string | undefined {
  const wanted = normalized(shows)
  const seen = normalized(output)
  if (!wanted.some((line) => line !== ANY)) return `the page prints nothing that could be wrong; this came\n${output}`
  const matches = (w: number, s: number): boolean => {
    const line = wanted[w]
    if (line === undefined) return s === seen.length
    if (line === ANY) return matches(w + 1, s) || (s < seen.length && matches(w, s + 1))
    return s < seen.length && isSameLine(line, seen[s] ?? '') && matches(w + 1, s + 1)
  }
  if (matches(0, 0)) return undefined
  const missing = wanted.filter((line) => line !== ANY && !seen.some((s) => isSameLine(line, s)))
  const why = missing.length > 0 ? `missing: ${missing.join(' | ')}` : 'the lines differ in order or number'
  return `${why}\n--- the page prints\n${shows}--- this came\n${output}`
}

/** Commands that only read: a person types them again until what the page announces is there. */
const READS =
  /^(kubenode (get|why|why-not|events|tree|describe|trace|check|plan|rules (test|lint|coverage)|(rollout|release|canary) (status|history)) ?|kubectl (-n \S+ )?get |git (log|status|diff) |cat |ls )/
const isReading = ({ commands }: Block): boolean =>
  commands
    .split('\n')
    .filter((line) => line !== '')
    .every((line) => READS.test(line.replace(/^(\w+=\S* )*/, '')))

const LOOK_AGAIN_MS = 1_500

interface Typed {
  readonly code: number
  readonly out: string
}

/** One shell for a page: the folder and the variables of a block are those of the block before. */
export class Typist {
  readonly #state: string
  readonly #patienceMs: number
  #env: NodeJS.ProcessEnv
  #cwd: string

  constructor({ cwd, scratch, env, patienceMs }: TypistOptions) {
    this.#cwd = cwd
    this.#state = join(scratch, `typed-${process.pid}`)
    this.#env = { ...env }
    this.#patienceMs = patienceMs
  }

  /** Runs one block; variables are kept, exported or not. Its last command ends it, as does the first that fails. */
  type(commands: string): Promise<Typed> {
    const script = `set -a\n${commands}\n{ pwd; env -0; } > '${this.#state}'`
    return new Promise((done, fail) => {
      const child = spawn('bash', ['-euc', script], {
        cwd: this.#cwd,
        env: this.#env,
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: this.#patienceMs,
      })
      let out = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (d: string) => (out += d))
      child.once('error', fail)
      child.once('close', (code) => {
        if (code === 0) this.#remember()
        done({ code: code ?? -1, out })
      })
    })
  }

  #remember(): void {
    const text = readFileSync(this.#state, 'utf8')
    const end = text.indexOf('\n')
    this.#cwd = text.slice(0, end)
    const pairs = text
      .slice(end + 1)
      .split('\0')
      .filter(Boolean)
    this.#env = Object.fromEntries(pairs.map((p) => [p.slice(0, p.indexOf('=')), p.slice(p.indexOf('=') + 1)]))
  }

  /** Types a whole page; the first block that fails or prints something else is an error that names its line. */
  async page(path: string, blocks: readonly Block[] = blocksIn(path)): Promise<void> {
    for (const block of blocks) await this.block(path, block)
  }

  async block(path: string, block: Block): Promise<string> {
    const until = performance.now() + (isReading(block) ? this.#patienceMs : 0)
    for (;;) {
      const { code, out } = await this.type(block.commands)
      const problem =
        code !== (block.code ?? 0)
          ? `exit code ${code}\n${out}`
          : block.shows === undefined
            ? undefined
            : differenceOf(block.shows, out)
      if (problem === undefined) return out
      if (performance.now() >= until) throw new Error(`${path}:${block.line}: ${block.commands.trim()}\n${problem}`)
      await sleep(LOOK_AGAIN_MS)
    }
  }
}

interface TypistOptions {
  readonly cwd: string
  readonly scratch: string
  readonly env: NodeJS.ProcessEnv
  readonly patienceMs: number
}
