// Runs inside the cage: loads a fleet from memory, lets it build its App, and answers with the objects of each target. It trusts nothing here to stay as it was.
import { readFileSync, writeSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { ANSWER_FD, FLEET_ROOT, type FleetError, type RenderAnswer, type RenderRequest } from '../protocol.ts'
import { freeze } from './freeze.ts'
import { fleetPath, judgeImport } from './imports.ts'

const STDIN_FD = 0
// Taken before any code of the fleet runs, so that it cannot put its own in their place.
const { parse, stringify } = JSON
const exit = process.exit.bind(process)

class ImportRefused extends Error {
  override readonly name = 'ImportRefused'
}

function answer(value: RenderAnswer): void {
  const bytes = Buffer.from(stringify(value))
  for (let at = 0; at < bytes.length;) at += writeSync(ANSWER_FD, bytes, at)
}

function fail(error: unknown): never {
  answer({ ok: false, error: describe(error) })
  return exit(1)
}

const LOCATION = /fleet:\/\/\/([^\s:)]+(?::\d+){1,2})/

function describe(error: unknown): FleetError {
  const [stack, message] = error instanceof Error ? [error.stack ?? '', error.message] : ['', `threw ${String(error)}`]
  const at = LOCATION.exec(stack)?.[1]
  const isSyntax = error instanceof SyntaxError
  const kind = error instanceof ImportRefused ? 'Import' : isSyntax ? 'Syntax' : 'Thrown'
  return { kind, message: message.slice(0, 4_000), ...(at === undefined ? {} : { at: decodeURIComponent(at) }) }
}

function hook({ files, release }: RenderRequest): void {
  const has = (path: string) => Object.hasOwn(files, path)
  registerHooks({
    resolve(specifier, context, next) {
      const from = context.parentURL ?? ''
      const isFleet = from.startsWith(FLEET_ROOT)
      if (!isFleet && !specifier.startsWith(FLEET_ROOT)) return next(specifier, context)
      const verdict = judgeImport(specifier, isFleet ? from : FLEET_ROOT, has)
      if (verdict.kind === 'Refused') throw new ImportRefused(`${fleetPath(from)}: ${verdict.why}`)
      if (verdict.kind === 'Release') return next(verdict.specifier, { ...context, parentURL: release })
      return { url: new URL(encodeURI(verdict.path), FLEET_ROOT).href, shortCircuit: true }
    },
    load(url, context, next) {
      if (!url.startsWith(FLEET_ROOT)) return next(url, context)
      const path = fleetPath(url)
      const format = path.endsWith('.json') ? 'json' : /\.[cm]?ts$/.test(path) ? 'module-typescript' : 'module'
      return { format, source: files[path] ?? '', shortCircuit: true }
    },
  })
}

/** What is printed leaves at once instead of piling up here: so the other side can count it and end a flood. */
function printAtOnce(stream: object): void {
  const { _handle: handle } = stream as { readonly _handle?: { setBlocking?(isBlocking: boolean): void } }
  handle?.setBlocking?.(true)
}

printAtOnce(process.stdout)
printAtOnce(process.stderr)
const request = parse(readFileSync(STDIN_FD, 'utf8')) as RenderRequest
const { catchSynth, objectsByTarget } = await import('#api/constructs/synthesis.ts')
const synthesis = catchSynth()
hook(request)
freeze(request.now, request.seed)
process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)

try {
  await import(`${FLEET_ROOT}${request.entry}`)
  if (synthesis.apps.length === 0) {
    const message = `${request.entry} ends without app.synth()`
    answer({ ok: false, error: { kind: 'NothingSynthesised', message, at: request.entry } })
    exit(1)
  }
  answer({ ok: true, clusters: Object.fromEntries(objectsByTarget(synthesis)) })
  exit(0)
} catch (error) {
  fail(error)
}
