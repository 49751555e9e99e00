// Renders a fleet in the process of the test: for tests about what becomes of its objects. A cage is a process of its own that loads the release again, a second of
// the processor for each commit. Code that never ends, or that tries to get out, needs a real one.
import { App } from 'cdk8s'
import { Node } from 'constructs'
import { registerHooks } from 'node:module'
import { catchSynth, objectsByTarget } from '#api/constructs/synthesis.ts'
import { describe } from '#sync/render/inside/describe.ts'
import { fleetPath, judgeImport } from '#sync/render/inside/imports.ts'
import { ImportRefused } from '#sync/render/inside/release.ts'
import { FLEET_ROOT, type AnswerLine, type RenderRequest } from '#sync/render/protocol.ts'
import type { Renderer } from '#sync/render/renderer.ts'
import { DEFAULT_DEADLINE_MS } from '#sync/render/run-caged.ts'

/** The files of each run, by its number; modules of a run have it behind a question mark in their addresses. */
const runs = new Map<string, RenderRequest['files']>()
const RUN = /\?run=(\d+)$/
const runOf = (url = ''): string | undefined => (url.startsWith(FLEET_ROOT) ? RUN.exec(url)?.[1] : undefined)
const withoutRun = (url: string): string => url.replace(RUN, '')

let isHooked = false
function hook(): void {
  if (isHooked) return
  isHooked = true
  registerHooks({
    resolve(specifier, context, next) {
      const run = runOf(context.parentURL) ?? runOf(specifier)
      const files = runs.get(run ?? '')
      if (run === undefined || files === undefined) return next(specifier, context)
      const parent = withoutRun(context.parentURL?.startsWith(FLEET_ROOT) === true ? context.parentURL : FLEET_ROOT)
      const verdict = judgeImport(withoutRun(specifier), parent, (path) => Object.hasOwn(files, path))
      if (verdict.kind === 'Refused') throw new ImportRefused(`${fleetPath(parent)}: ${verdict.why}`)
      if (verdict.kind === 'Release') return next(verdict.specifier, { ...context, parentURL: import.meta.url })
      return { url: `${new URL(encodeURI(verdict.path), FLEET_ROOT).href}?run=${run}`, shortCircuit: true }
    },
    load(url, context, next) {
      const files = runs.get(runOf(url) ?? '')
      if (files === undefined) return next(url, context)
      const path = fleetPath(withoutRun(url))
      const format = path.endsWith('.json') ? 'json' : /\.[cm]?ts$/.test(path) ? 'module-typescript' : 'module'
      return { format, source: files[path] ?? '', shortCircuit: true }
    },
  })
}

/** As the cage says it: the innermost line of the fleet. */
const PLACE = /fleet:\/\/\/([^\s?)]+)\?run=\d+:(\d+)/
function placeHere(): string | undefined {
  const [, path, line] = PLACE.exec(new Error('here').stack ?? '') ?? []
  return path === undefined ? undefined : `${decodeURIComponent(path)}:${line}`
}

async function linesOf({ files, entry }: RenderRequest, deadlineMs: number): Promise<readonly AnswerLine[] | 'Late'> {
  hook()
  const run = String(runs.size + 1)
  runs.set(run, files)
  const synth: unknown = Reflect.get(App.prototype, 'synth')
  const addChild: unknown = Reflect.get(Node.prototype, 'addChild')
  try {
    const caught = catchSynth(placeHere)
    if ((await within(deadlineMs, import(`${FLEET_ROOT}${String(entry)}?run=${run}`))) === 'Late') return 'Late'
    if (caught.apps.length === 0)
      return [
        {
          error: {
            kind: 'NothingSynthesised',
            message: `${String(entry)} ends without app.synth()`,
            at: String(entry),
          },
        },
      ]
    const lines: AnswerLine[] = []
    for (const [target, objects] of objectsByTarget(caught)) {
      lines.push({ target })
      for (const { object, at } of objects) lines.push({ object: object ?? null, at })
    }
    return [...lines, { end: lines.length }]
  } catch (error) {
    if (error instanceof Error && error.stack !== undefined) error.stack = error.stack.replaceAll(/\?run=\d+/g, '')
    return [{ error: describe(error) }]
  } finally {
    Reflect.set(App.prototype, 'synth', synth)
    Reflect.set(Node.prototype, 'addChild', addChild)
    // Its address stays known to Node, so the number is not used again.
    runs.set(run, {})
  }
}

/** One after the other: while a fleet is built, cdk8s is not as it was. */
let last: Promise<unknown> = Promise.resolve()

export const openRenderer = (): Renderer => ({
  layers: ['namespaces'],
  run: async (request, { signal, deadlineMs = DEFAULT_DEADLINE_MS } = {}) => {
    const made = last.then(() => (signal?.aborted === true ? undefined : linesOf(request, deadlineMs)))
    last = made.catch(() => undefined)
    const lines = await made
    if (lines === undefined) return { kind: 'Superseded', printed: '' }
    if (lines === 'Late') return { kind: 'Deadline', deadlineMs, printed: '' }
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    return { kind: 'Answered', chunks: [Buffer.from(text)], printed: '' }
  },
})

/** A fleet that waits for ever is reported as such, and the fleets after it are rendered. */
async function within<T>(deadlineMs: number, made: Promise<T>): Promise<T | 'Late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'Late'>((resolve) => {
    timer = setTimeout(() => resolve('Late'), deadlineMs)
  })
  try {
    return await Promise.race([made, late])
  } finally {
    clearTimeout(timer)
  }
}
