// Runs inside the cage: loads a fleet from memory, lets it build its App, and answers with each target's objects. Fleet code may change anything here.
import { readFileSync, writeSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import type { MadeObject } from '#api/constructs/synthesis.ts'
import { ANSWER_FD, FLEET_ROOT, type AnswerLine, type LoadedModule, type RenderRequest } from '../protocol.ts'
import { describe } from './describe.ts'
import { freeze, seal } from './freeze.ts'
import { placeHere } from './places.ts'
import { openImports } from './release.ts'

const STDIN_FD = 0
// Saved before any fleet code runs, so that it cannot replace them.
const { parse, stringify } = JSON
const exit = (process as unknown as { reallyExit(code: number): never }).reallyExit.bind(process)
const listen = process.on.bind(process)
const { permission } = process as unknown as { readonly permission?: { readonly drop?: (scope: string) => void } }

/** Large enough to write many lines at once, small enough to buffer few. */
const PIECE_CHARS = 256 * 1024

function answer(lines: Iterable<AnswerLine>): void {
  let piece = ''
  for (const line of lines) {
    piece += `${stringify(line)}\n`
    if (piece.length < PIECE_CHARS) continue
    send(piece)
    piece = ''
  }
  send(piece)
}

function send(text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length;) at += writeSync(ANSWER_FD, bytes, at)
}

function fail(error: unknown): never {
  answer([{ error: describe(error) }])
  return exit(1)
}

const request = parse(readFileSync(STDIN_FD, 'utf8')) as RenderRequest
const { entry } = request

async function synthesize(path: string): Promise<Iterable<AnswerLine>> {
  await import(`${FLEET_ROOT}${path}`)
  if (synthesis !== undefined && synthesis.caught.apps.length > 0)
    return withEnd(linesOf(synthesis.objectsByTarget(synthesis.caught)))
  return [{ error: { kind: 'NothingSynthesised', message: `${path} ends without app.synth()`, at: path } }]
}

function* linesOf(targets: ReadonlyMap<string, readonly MadeObject[]>): Generator<AnswerLine> {
  for (const [target, objects] of targets) {
    yield { target }
    // JSON omits undefined values.
    for (const { object, at } of objects) yield { object: object ?? null, at }
  }
}

function* withEnd(lines: Iterable<AnswerLine>): Generator<AnswerLine> {
  let end = 0
  for (const line of lines) {
    yield line
    end++
  }
  yield { end }
}

/** Loads each separately: one that fails does not hide the others. */
async function load(paths: readonly string[]): Promise<Iterable<AnswerLine>> {
  const lines: AnswerLine[] = []
  for (const path of paths) {
    const loaded: LoadedModule = await import(`${FLEET_ROOT}${path}`)
      .then((exports: unknown) => ({ exports: dataOnly(exports) }))
      .catch((error: unknown) => ({ error: describe(error) }))
    lines.push({ module: path, loaded })
  }
  return withEnd(lines)
}

/** Converts here, so that a value that is not data does not hide the others either. */
const dataOnly = (exports: unknown): unknown => parse(stringify({ ...(exports as object) }))

listen('uncaughtException', fail)
listen('unhandledRejection', fail)
// Node parses TypeScript with WebAssembly, which the fleet does not get. A release in plain JavaScript would not have loaded it by now.
stripTypeScriptTypes('')
const builtins = freeze(request.now, request.seed)
const imports = openImports(request, builtins)
const synthesis =
  typeof entry === 'string'
    ? await import('#api/constructs/synthesis.ts').then(({ catchSynth, objectsByTarget }) => ({
        caught: catchSynth(placeHere),
        objectsByTarget,
      }))
    : undefined
await imports.loadNamed()
imports.close()
permission?.drop?.('fs')
seal(builtins, request.release)
try {
  answer(typeof entry === 'string' ? await synthesize(entry) : await load(entry))
  exit(0)
} catch (error) {
  fail(error)
}
